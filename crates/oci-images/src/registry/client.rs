//! One repository of a registry: its manifests and blobs.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt, TryStreamExt};
use oci_spec::image::{Descriptor, Digest, DigestAlgorithm, ImageIndex, MediaType};
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};

use super::auth::Resolver;
use super::error::{Action, Error};
use super::failure::Failure;
use super::http::Request;
use super::mirrors::Endpoint;
use super::options::Options;
use super::progress::Progress;
use super::reference;
use super::session::Session;
use crate::blocking::blocking;
use crate::json::json_error;
use crate::layout::{self, Artifact, Blob, Document, Found, Image, Platform, Search, Wanted, sha256};
use crate::reference::Reference;

/// Maximum size of a manifest or an index, in bytes: what the distribution specification asks registries to accept.
const MAX_MANIFEST: u64 = 4 << 20;
/// Maximum number of indexes on the way from a name to an image.
const MAX_INDEX_DEPTH: usize = 4;
/// The media types that are accepted as the manifest of an image.
pub(crate) const MANIFEST_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";
/// The header with the digest of what a response is about.
pub(crate) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// One repository of a registry, logged in. Clones share the connection.
#[derive(Clone)]
pub struct Repository {
    pub(crate) session: Arc<Session>,
    pub(crate) reference: Reference,
}

impl fmt::Debug for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the session, which has a secret.
        formatter.debug_tuple("Repository").field(&self.reference.to_string()).finish()
    }
}

impl Repository {
    /// Parses the name of an image; without a tag or a digest it is `latest`.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] if it is invalid.
    pub fn parse(name: &str) -> Result<Reference, Error> {
        reference::parse(name)
    }

    /// Connects to the registry of `reference` and logs in for reading; or to the first of its [mirrors](Options::mirrors)
    /// that has what `reference` names. The [timeout](Options::timeout) begins.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], [`Error::Mirrored`], [`Error::Denied`], [`Error::Token`], [`Error::Certificates`],
    /// [`Error::Auth`], [`Error::Mirrors`] or [`Error::Blocked`].
    pub async fn for_reading(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Self, Error> {
        let options = &options.started();
        let (mirrors, name) = (options.mirrors.clone(), reference.clone());
        let mut endpoints = blocking(move || mirrors.endpoints(&name)).await?;
        let own =
            endpoints.pop().unwrap_or_else(|| Endpoint { reference: reference.clone(), insecure: false });
        let mut mirrors = Vec::new();
        for mirror in endpoints {
            // Whatever is wrong with a mirror, the next place may have the image.
            let reason = match Self::connect(&mirror, reference, options, resolver, Action::Pull, None).await
            {
                Ok(found) => {
                    let version = mirror.reference.version();
                    match found.find(version).await {
                        Ok(Some(_)) => return Ok(found),
                        Ok(None) => "it does not have the image".to_owned(),
                        Err(error) => error.to_string(),
                    }
                }
                Err(Error::Unreachable { reason, .. }) => reason,
                Err(error) => error.to_string(),
            };
            mirrors.push(format!("{} ({reason})", mirror.reference.registry()));
        }
        match Self::connect(&own, reference, options, resolver, Action::Pull, None).await {
            Err(error @ Error::Unreachable { .. }) if !mirrors.is_empty() => {
                Err(Error::Mirrored { error: Box::new(error), mirrors })
            }
            connected => connected,
        }
    }

    /// Connects to where `reference` is read from or written to.
    async fn connect(
        endpoint: &Endpoint,
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
        action: Action,
        mount_from: Option<&str>,
    ) -> Result<Self, Error> {
        let connect = async |options: &Options| {
            let session = Session::open(&endpoint.reference, options, resolver, action, mount_from).await?;
            Ok(Self { session: Arc::new(session), reference: reference.clone() })
        };
        if !endpoint.insecure && !options.insecure {
            return connect(options).await;
        }
        let mut insecure = options.clone();
        insecure.skip_tls_verification = true;
        match connect(&insecure).await {
            Err(Error::Unreachable { .. }) => {
                insecure.plain_http_hosts.push(endpoint.reference.registry().to_owned());
                connect(&insecure).await
            }
            connected => connected,
        }
    }

    /// Connects to the registry of `reference` and logs in for reading and writing.
    ///
    /// # Errors
    ///
    /// As [`Repository::for_reading`], and [`Error::PushToDigest`] if `reference` contains a digest: what is built now has
    /// a digest of its own.
    pub async fn for_writing(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Self, Error> {
        Self::for_writing_on(reference, None, options, resolver).await
    }

    /// [`Repository::for_writing`] for an image on a base. If `base` is in the same registry, its layers can be mounted instead
    /// of sent.
    ///
    /// # Errors
    ///
    /// As [`Repository::for_writing`].
    pub async fn for_writing_on(
        reference: &Reference,
        base: Option<&Reference>,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Self, Error> {
        if reference.digest().is_some() {
            return Err(Error::PushToDigest { name: reference.to_string() });
        }
        Self::for_copying(reference, base, options, resolver).await
    }

    /// Connects to the registry of `reference`, which may contain the digest of what is copied, and logs in for reading and
    /// writing. If `source` is in the same registry, its blobs can be mounted instead of sent.
    ///
    /// # Errors
    ///
    /// As [`Repository::for_reading`].
    pub async fn for_copying(
        reference: &Reference,
        source: Option<&Reference>,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Self, Error> {
        let options = &options.started();
        let source = source.filter(|source| source.host() == reference.host());
        let source = source.map(Reference::repository).filter(|name| *name != reference.repository());
        let (mirrors, name) = (options.mirrors.clone(), reference.clone());
        let endpoint = blocking(move || mirrors.writable(&name)).await?;
        Self::connect(&endpoint, reference, options, resolver, Action::Push, source).await
    }

    /// Returns the name of this repository with its tag or digest.
    #[must_use]
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Returns the same repository for another tag or digest of it.
    #[must_use]
    pub fn at(&self, version: &str) -> Self {
        let reference = self.reference.at(version);
        Self { session: Arc::clone(&self.session), reference }
    }

    /// Returns the image that the reference names, without the bytes of its layers. Of an index, the image for
    /// `platform`; if there is none, the first one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such image, [`Error::Invalid`] if the registry returns other bytes than it
    /// claims, [`Error::TooLarge`] if a document exceeds 4 MiB, [`Error::Layout`] if it is not an image.
    pub async fn image(&self, platform: &Platform) -> Result<Image, Error> {
        let mut reference = self.reference.clone();
        for _ in 0..MAX_INDEX_DEPTH {
            let manifest = self.manifest(&reference).await?;
            let name = reference.to_string();
            if !layout::is_index(manifest.descriptor().media_type()) {
                return self.image_of(manifest, &name).await;
            }
            let index: ImageIndex = serde_json::from_slice(&manifest.document()?)
                .map_err(|error| self.malformed(&name, "image index", &json_error(&error)))?;
            let chosen = layout::choose(&index, platform)
                .ok_or_else(|| self.malformed(&name, "image index", "it lists no image"))?;
            reference = reference.at(chosen.digest().as_ref());
        }
        let reason = format!("indexes are nested deeper than {MAX_INDEX_DEPTH} levels");
        Err(self.malformed(&self.reference.to_string(), "image", &reason))
    }

    /// Returns the digest of what the reference names, and its image for each of `platforms`, without the bytes of layers.
    ///
    /// # Errors
    ///
    /// As [`Repository::image`], and [`Error::Layout`] beyond 1,000 manifests or four levels of indexes.
    pub(crate) async fn images_for(&self, platforms: &[Platform]) -> Result<(Digest, Vec<Found>), Error> {
        let root = self.manifest(&self.reference).await?;
        let mut found = Vec::new();
        for platform in platforms {
            found.push(self.image_for(&root, platform).await?);
        }
        Ok((root.digest().clone(), found))
    }

    async fn image_for(&self, root: &Blob, platform: &Platform) -> Result<Found, Error> {
        let mut search = Search::new(platform, root.descriptor().clone());
        while let Some(candidate) = search.next()? {
            let reference = self.reference.at(candidate.descriptor.digest().as_ref());
            let manifest = if candidate.descriptor == *root.descriptor() {
                root.clone()
            } else {
                self.manifest(&reference).await?
            };
            let name = reference.to_string();
            if layout::is_index(manifest.descriptor().media_type()) {
                search.index(&candidate, self.document(&manifest, &name)?)?;
                continue;
            }
            let image = self.image_of(manifest, &name).await?;
            if let Some(image) = search.image(&candidate, image)? {
                return Ok(Found::Image(image.into()));
            }
        }
        Ok(search.not_found())
    }

    async fn image_of(&self, manifest: Blob, name: &str) -> Result<Image, Error> {
        let config = serde_json::from_slice::<oci_spec::image::ImageManifest>(&manifest.document()?)
            .map_err(|error| self.malformed(name, "image manifest", &json_error(&error)))?
            .config()
            .clone();
        if config.size() > layout::DOCUMENT_LIMIT {
            let what = format!("the configuration of {}", self.reference);
            return Err(layout::Error::TooLarge { what, limit: layout::DOCUMENT_LIMIT }.into());
        }
        let config = self.fetch(&Blob::absent(config), &Progress::hidden()).await?;
        let locate = |descriptor: Descriptor| {
            if descriptor.digest() == config.digest() { config.clone() } else { Blob::absent(descriptor) }
        };
        Image::read(manifest, locate).map_err(|error| match error {
            layout::Error::Malformed { what, expected, reason } => self.malformed(&what, expected, &reason),
            error => error.into(),
        })
    }

    /// Returns the digest of what the reference names, an image or an index, and the platforms that it is for: none
    /// if an image does not specify its platform.
    ///
    /// # Errors
    ///
    /// As [`Repository::image`].
    pub async fn digest(&self) -> Result<(Digest, Vec<Platform>), Error> {
        let name = self.reference.to_string();
        let manifest = self.manifest(&self.reference).await?;
        let mut platforms = Vec::new();
        if layout::is_index(manifest.descriptor().media_type()) {
            let index: ImageIndex = serde_json::from_slice(&manifest.document()?)
                .map_err(|error| self.malformed(&name, "image index", &json_error(&error)))?;
            // Attestations are listed like images, with an unknown platform.
            let known = index.manifests().iter().filter_map(|descriptor| descriptor.platform().as_ref());
            platforms.extend(known.map(Platform::from).filter(|platform| platform.os != "unknown"));
        } else {
            let image = self.image_of(manifest.clone(), &name).await?;
            platforms.extend(
                Platform::from_config(&image.config().document()?)
                    .map_err(|error| self.malformed(&name, "image configuration", &error.to_string()))?,
            );
        }
        Ok((manifest.digest().clone(), platforms))
    }

    /// Returns what the reference names, an image or an index with its `wanted` images, byte for byte and without the bytes
    /// of blobs.
    ///
    /// # Errors
    ///
    /// As [`Repository::image`], and [`Error::Layout`] beyond 1,000 manifests or four levels of indexes.
    pub async fn artifact(&self, wanted: &Wanted) -> Result<Artifact, Error> {
        let manifest = self.manifest(&self.reference).await?;
        self.artifact_of(manifest, wanted).await
    }

    /// As [`Repository::artifact`], of a manifest that has already been read.
    pub(crate) async fn artifact_of(&self, manifest: Blob, wanted: &Wanted) -> Result<Artifact, Error> {
        self.artifact_below(manifest, wanted, 0, &AtomicUsize::new(0)).await
    }

    fn artifact_below<'a>(
        &'a self,
        manifest: Blob,
        wanted: &'a Wanted,
        depth: usize,
        count: &'a AtomicUsize,
    ) -> BoxFuture<'a, Result<Artifact, Error>> {
        async move {
            layout::check_count(count.fetch_add(1, Ordering::Relaxed) + 1)?;
            let what = self.reference.at(manifest.digest().as_ref()).to_string();
            let document = self.document(&manifest, &what)?;
            layout::check_depth(depth, &document)?;
            let children = stream::iter(document.manifests).map(|child| async move {
                if !wanted.includes(&child) {
                    return Ok(Artifact::unread(child));
                }
                let reference = self.reference.at(child.digest().as_ref());
                match self.manifest(&reference).await {
                    Ok(manifest) => {
                        let read = self.artifact_below(manifest, wanted, depth + 1, count).await?;
                        Ok(read.named_by(&child))
                    }
                    Err(error) if wanted.may_be_missing() && error.is_about_content() => {
                        Ok(Artifact::unread(child))
                    }
                    Err(error) => Err(error),
                }
            });
            let children = children.buffered(self.session.parallel).try_collect().await?;
            let blobs = document.blobs.into_iter().map(Blob::absent).collect();
            Ok(Artifact::new(manifest, blobs, children))
        }
        .boxed()
    }

    /// Returns what the registry lacks of the image or index that the reference names, for each platform; `digest` is what
    /// the name must lead to.
    ///
    /// # Errors
    ///
    /// As [`Repository::artifact`], except that something is missing.
    pub async fn missing(&self, digest: Option<&str>) -> Result<Vec<String>, Error> {
        let root = match self.manifest(&self.reference).await {
            Ok(root) => root,
            Err(Error::NotFound { .. }) => return Ok(vec!["the image".to_owned()]),
            Err(error) => return Err(error),
        };
        if digest.is_some_and(|digest| digest != root.digest().as_ref()) {
            return Ok(vec![format!("the image (its name leads to {})", root.digest())]);
        }
        let mut missing = Vec::new();
        let mut pending = vec![(root, String::new(), 0)];
        let mut count = 0;
        while let Some((manifest, platform, depth)) = pending.pop() {
            count += 1;
            layout::check_count(count)?;
            let document = self.document(&manifest, manifest.digest().as_ref())?;
            layout::check_depth(depth, &document)?;
            let children = stream::iter(document.manifests).map(|child| async move {
                let platform = child.platform().as_ref().map(Platform::from);
                let platform = platform.map_or_else(String::new, |platform| format!(" for {platform}"));
                let reference = self.reference.at(child.digest().as_ref());
                (platform, self.manifest(&reference).await)
            });
            let mut children = children.buffered(self.session.parallel);
            while let Some((platform, found)) = children.next().await {
                match found {
                    Ok(manifest) => pending.push((manifest, platform, depth + 1)),
                    Err(Error::NotFound { .. }) => missing.push(format!("the image{platform}")),
                    Err(error) => return Err(error),
                }
            }
            let blobs = stream::iter(document.blobs).map(|blob| async move {
                let what = format!("the blob {}", blob.digest());
                let found = self.has_blob(&Blob::absent(blob)).await;
                let found = found.map_err(|failure| self.session.error(failure, "look up", &what))?;
                Ok::<_, Error>((!found).then_some(what))
            });
            let mut blobs = blobs.buffered(self.session.parallel);
            while let Some(lost) = blobs.next().await {
                missing.extend(lost?.map(|what| format!("{what}{platform}")));
            }
        }
        Ok(missing)
    }

    /// Parses a manifest or an index.
    pub(crate) fn document(&self, manifest: &Blob, name: &str) -> Result<Document, Error> {
        Document::parse(&manifest.document()?, name).map_err(|error| match error {
            layout::Error::Malformed { what, expected, reason } => self.malformed(&what, expected, &reason),
            error => error.into(),
        })
    }

    /// Returns a manifest or an index with its own media type.
    pub(crate) async fn manifest(&self, reference: &Reference) -> Result<Blob, Error> {
        let name = reference.to_string();
        let version = reference.version();
        let bytes = self.manifest_bytes(version).await.map_err(|failure| match failure {
            Failure::Status { status: StatusCode::NOT_FOUND, .. } => Error::NotFound { name: name.clone() },
            failure => self.session.error(failure, "read", &name),
        })?;
        let manifest = Blob::from_bytes(MediaType::ImageManifest, bytes);
        let media_type = self.document(&manifest, &name)?.media_type;
        Ok(manifest.with_media_type(media_type))
    }

    /// Returns the bytes of the manifest with a tag or a digest, checked against the digest or, for a tag, against
    /// the one that the response claims.
    pub(crate) async fn manifest_bytes(&self, version: &str) -> Result<Vec<u8>, Failure> {
        let expected = Digest::from_str(version).ok();
        let request = Request::new(Method::GET, self.session.url(&format!("manifests/{version}"))?)
            .header(ACCEPT, HeaderValue::from_static(MANIFEST_TYPES));
        self.session
            .run(|| async {
                let response = self.session.expect(&request, &[StatusCode::OK]).await?;
                let claimed = response.header(&CONTENT_DIGEST).and_then(|text| Digest::from_str(&text).ok());
                let bytes = response.bytes(MAX_MANIFEST).await?;
                match (&expected, &claimed) {
                    (Some(expected), _) => check(&bytes, expected)?,
                    (None, Some(claimed)) if *claimed.algorithm() == DigestAlgorithm::Sha256 => {
                        check(&bytes, claimed)?;
                    }
                    _ => {}
                }
                Ok(bytes)
            })
            .await
    }

    /// Returns an error for a document that is not what it should be; `reason` may quote it.
    pub(crate) fn malformed(&self, what: &str, expected: &'static str, reason: &str) -> Error {
        let reason = self.session.http.secrets.clean(reason);
        layout::Error::Malformed { what: what.to_owned(), expected, reason }.into()
    }

    pub(crate) fn registry(&self) -> &str {
        self.reference.registry()
    }
}

/// Compares the digest of `bytes` with the one that is expected.
fn check(bytes: &[u8], expected: &Digest) -> Result<(), Failure> {
    if *expected.algorithm() != DigestAlgorithm::Sha256 {
        return Err(Failure::Invalid(format!("unsupported digest algorithm `{}`", expected.algorithm())));
    }
    let found = sha256(bytes);
    if &found == expected {
        return Ok(());
    }
    Err(Failure::Invalid(format!("expected the digest {expected}, the content has {found}")))
}
