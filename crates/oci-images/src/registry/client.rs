//! One repository of a registry: its manifests and blobs.

use std::fs::File;
use std::io::{Seek, Write};
use std::str::FromStr;
use std::sync::Arc;

use oci_spec::image::{Descriptor, Digest, DigestAlgorithm, ImageIndex, MediaType};
use reqwest::header::{ACCEPT, CONTENT_RANGE, HeaderName, HeaderValue, RANGE};
use reqwest::{Method, StatusCode};
use tempfile::TempPath;

use super::error::Action;
use super::http::{Failure, Request};
use super::session::Session;
use super::{Error, Options, Progress, Reference, Resolver};
use crate::layout::{self, Blob, Hashing, Image, Platform, sha256};

/// Maximum size of a manifest or an index, in bytes: what the distribution specification asks registries to accept.
const MAX_MANIFEST: u64 = 4 << 20;
/// Maximum number of indexes on the way from a name to an image.
const MAX_INDEX_DEPTH: usize = 4;
/// The media types that are accepted as the manifest of an image.
pub(super) const MANIFEST_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";
/// The header with the digest of what a response is about.
pub(super) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
/// A download that got this much further, in bytes, is worth as many attempts as a new one.
const RESUMED_PROGRESS: u64 = 256 << 10;

/// One repository of a registry, logged in. Clones share the connection.
#[derive(Clone)]
pub struct Repository {
    pub(super) session: Arc<Session>,
    pub(super) reference: Reference,
}

impl Repository {
    /// Parses the name of an image; without a tag or a digest it is `latest`.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] if it is invalid.
    pub fn parse(name: &str) -> Result<Reference, Error> {
        Reference::from_str(name).map_err(|error| Error::Name {
            name: super::foreign::escape(name),
            reason: super::foreign::escape(&error.to_string()),
        })
    }

    /// Connects to the registry of `reference` and logs in for reading.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], [`Error::Denied`], [`Error::Token`], [`Error::PlainHttp`], [`Error::Certificates`] or
    /// [`Error::Auth`].
    pub async fn for_reading(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Self, Error> {
        Self::connect(reference, options, resolver, Action::Pull).await
    }

    /// Connects to the registry of `reference` and logs in for reading and writing.
    ///
    /// # Errors
    ///
    /// As [`Repository::for_reading`], and [`Error::PushToDigest`] if `reference` contains a digest.
    pub async fn for_writing(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Self, Error> {
        if reference.digest().is_some() {
            return Err(Error::PushToDigest { name: reference.whole() });
        }
        Self::connect(reference, options, resolver, Action::Push).await
    }

    async fn connect(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
        action: Action,
    ) -> Result<Self, Error> {
        let session = Session::open(reference, options, resolver, action).await?;
        Ok(Self { session: Arc::new(session), reference: reference.clone() })
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
            let name = reference.whole();
            if manifest.descriptor().media_type() != &MediaType::ImageIndex {
                return self.image_of(manifest, &name).await;
            }
            let index: ImageIndex = serde_json::from_slice(&manifest.document()?)
                .map_err(|error| self.malformed(&name, "image index", &error.to_string()))?;
            let chosen = layout::choose(&index, platform)
                .ok_or_else(|| self.malformed(&name, "image index", "it lists no image"))?;
            reference = reference.clone_with_digest(chosen.digest().to_string());
        }
        let reason = format!("indexes are nested deeper than {MAX_INDEX_DEPTH} levels");
        Err(self.malformed(&self.reference.whole(), "image", &reason))
    }

    async fn image_of(&self, manifest: Blob, name: &str) -> Result<Image, Error> {
        let config = serde_json::from_slice::<oci_spec::image::ImageManifest>(&manifest.document()?)
            .map_err(|error| self.malformed(name, "image manifest", &error.to_string()))?
            .config()
            .clone();
        if config.size() > layout::DOCUMENT_LIMIT {
            let what = format!("the configuration of {}", self.reference.whole());
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
        let name = self.reference.whole();
        let manifest = self.manifest(&self.reference).await?;
        let mut platforms = Vec::new();
        if manifest.descriptor().media_type() == &MediaType::ImageIndex {
            let index: ImageIndex = serde_json::from_slice(&manifest.document()?)
                .map_err(|error| self.malformed(&name, "image index", &error.to_string()))?;
            // Attestations are listed like images, with an unknown platform.
            let known = index.manifests().iter().filter_map(|descriptor| descriptor.platform().as_ref());
            platforms.extend(known.filter(|platform| platform.os().to_string() != "unknown").map(
                |platform| Platform {
                    os: platform.os().to_string(),
                    architecture: platform.architecture().to_string(),
                    variant: platform.variant().clone(),
                },
            ));
        } else {
            let image = self.image_of(manifest.clone(), &name).await?;
            let config: serde_json::Value = serde_json::from_slice(&image.config().document()?)
                .map_err(|error| self.malformed(&name, "image configuration", &error.to_string()))?;
            if let (Some(os), Some(architecture)) = (config["os"].as_str(), config["architecture"].as_str()) {
                platforms.push(Platform {
                    os: os.to_owned(),
                    architecture: architecture.to_owned(),
                    variant: config["variant"].as_str().map(str::to_owned),
                });
            }
        }
        Ok((manifest.digest().clone(), platforms))
    }

    /// Returns a manifest or an index, with OCI's media type.
    async fn manifest(&self, reference: &Reference) -> Result<Blob, Error> {
        let name = reference.whole();
        let version = reference.digest().or(reference.tag()).unwrap_or("latest");
        let bytes = self.manifest_bytes(version).await.map_err(|failure| match failure {
            Failure::Status { status: StatusCode::NOT_FOUND, .. } => Error::NotFound { name: name.clone() },
            failure => self.session.error(failure, "read", &name),
        })?;
        let value: serde_json::Value = serde_json::from_slice(&bytes)
            .map_err(|error| self.malformed(&name, "image manifest", &error.to_string()))?;
        let is_index = value["manifests"].is_array();
        let media_type = if is_index { MediaType::ImageIndex } else { MediaType::ImageManifest };
        Ok(Blob::from_bytes(media_type, bytes))
    }

    /// Returns the bytes of the manifest with a tag or a digest, checked against the digest or, for a tag, against
    /// the one that the response claims.
    pub(super) async fn manifest_bytes(&self, version: &str) -> Result<Vec<u8>, Failure> {
        let expected = Digest::from_str(version).ok();
        let request = Request::new(Method::GET, self.session.url(&format!("manifests/{version}"))?)
            .header(ACCEPT, HeaderValue::from_static(MANIFEST_TYPES));
        self.session
            .run(|| async {
                let answer = self.session.expect(&request, &[StatusCode::OK]).await?;
                let claimed = answer.header(&CONTENT_DIGEST).and_then(|text| Digest::from_str(&text).ok());
                let bytes = answer.bytes(MAX_MANIFEST).await?;
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

    /// Returns the blob with its bytes in a temporary file; a blob that has its bytes is returned as it is.
    ///
    /// A download that breaks is resumed where it stopped if the registry supports that.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the registry returns other bytes than the descriptor promises, [`Error::Layout`] if the
    /// temporary directory is full.
    pub async fn fetch(&self, blob: &Blob, progress: &Progress) -> Result<Blob, Error> {
        if blob.is_present() {
            return Ok(blob.clone());
        }
        let what = format!("the blob {}", blob.digest());
        progress.expect(blob.size());
        let fetched = self.download(blob.descriptor(), progress).await;
        let path = fetched.map_err(|failure| self.session.error(failure, "return", &what))?;
        Ok(Blob::from_temporary(blob.descriptor().clone(), path))
    }

    async fn download(&self, descriptor: &Descriptor, progress: &Progress) -> Result<TempPath, Failure> {
        let digest = descriptor.digest();
        if *digest.algorithm() != DigestAlgorithm::Sha256 {
            return Err(Failure::Invalid(format!("unsupported digest algorithm `{}`", digest.algorithm())));
        }
        let temporary =
            tempfile::Builder::new().prefix("bundle-tool-blob-").tempfile().map_err(temporary_error)?;
        let (handle, path) = temporary.into_parts();
        let mut file = Hashing::new(handle.try_clone().map_err(temporary_error)?);
        let mut attempts = self.session.attempts();
        loop {
            let before = file.size();
            match self.append(descriptor, &handle, &mut file, progress).await {
                Ok(()) => break,
                // Everything arrived, whatever happened to the end of the response.
                Err(Failure::Broken(_)) if file.size() == descriptor.size() => break,
                Err(failure) => {
                    if file.size() >= before + RESUMED_PROGRESS {
                        attempts.reset();
                    }
                    attempts.pause(failure).await?;
                }
            }
        }
        let (found, size, _) = file.finish();
        if size != descriptor.size() {
            return Err(Failure::Invalid(format!("expected {} bytes, got {size}", descriptor.size())));
        }
        if &found != digest {
            return Err(Failure::Invalid(format!("the content has the digest {found}")));
        }
        Ok(path)
    }

    /// Appends the rest of a blob to `file`, or all of it to an empty file if the registry does not resume. `handle` is
    /// the same file.
    async fn append(
        &self,
        descriptor: &Descriptor,
        handle: &File,
        file: &mut Hashing<File>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let mut request =
            Request::new(Method::GET, self.session.url(&format!("blobs/{}", descriptor.digest()))?);
        let mut statuses = vec![StatusCode::OK];
        if file.size() > 0 {
            let range = HeaderValue::from_str(&format!("bytes={}-", file.size()))
                .map_err(|error| Failure::Invalid(error.to_string()))?;
            request = request.header(RANGE, range);
            statuses.push(StatusCode::PARTIAL_CONTENT);
        }
        let mut answer = self.session.expect(&request, &statuses).await?;
        if answer.status() == StatusCode::PARTIAL_CONTENT {
            let start = answer.header(&CONTENT_RANGE).unwrap_or_default();
            if !start.starts_with(&format!("bytes {}-", file.size())) {
                return Err(Failure::Invalid("the registry returned another range than requested".into()));
            }
        } else if file.size() > 0 {
            progress.take_back(file.size());
            *file = restarted(handle).map_err(temporary_error)?;
        }
        while let Some(chunk) = answer.chunk().await? {
            if file.size() + chunk.len() as u64 > descriptor.size() {
                return Err(Failure::Invalid(format!("more than the {} bytes expected", descriptor.size())));
            }
            file.write_all(&chunk).map_err(temporary_error)?;
            progress.advance(chunk.len() as u64);
        }
        Ok(())
    }

    /// Returns an error for a document that is not what it should be; `reason` may quote it.
    fn malformed(&self, what: &str, expected: &'static str, reason: &str) -> Error {
        let reason = self.session.http.secrets.clean(reason);
        layout::Error::Malformed { what: what.to_owned(), expected, reason }.into()
    }

    pub(super) fn registry(&self) -> &str {
        self.reference.registry()
    }
}

/// Returns the same file, empty and with nothing counted.
fn restarted(handle: &File) -> std::io::Result<Hashing<File>> {
    let mut file = handle.try_clone()?;
    file.set_len(0)?;
    file.rewind()?;
    Ok(Hashing::new(file))
}

fn temporary_error(error: std::io::Error) -> Failure {
    Failure::Local(layout::Error::temporary(error))
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
