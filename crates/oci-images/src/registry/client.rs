//! A connection to one repository of a registry.

use std::io::Write;
use std::str::FromStr;

use futures::StreamExt;
use oci_client::errors::OciDistributionError;
use oci_client::{Reference, RegistryOperation};
use oci_spec::image::{Descriptor, ImageIndex, MediaType};

use super::error::{Kind, by_stream, kind, reason};
use super::{Backoff, Credentials, Error, Options, Progress, Resolver};
use crate::layout::{self, Blob, Hashing, Image, Platform};

/// What is understood as the manifest of an image.
const MANIFEST_TYPES: [&str; 4] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

/// One repository of a registry, logged in.
#[derive(Clone)]
pub struct Repository {
    pub(super) client: oci_client::Client,
    pub(super) reference: Reference,
    pub(super) credentials: Credentials,
    pub(super) backoff: Backoff,
}

impl Repository {
    /// Reads the name of an image; without a tag it is `latest`.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] where it is none.
    pub fn parse(name: &str) -> Result<Reference, Error> {
        Reference::from_str(name)
            .map_err(|error| Error::Name { name: name.to_owned(), reason: error.to_string() })
    }

    /// Reaches the registry of `reference` and logs in for reading.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], [`Error::Refused`], [`Error::PlainHttp`], [`Error::Certificates`] or [`Error::Auth`].
    pub async fn for_reading(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Self, Error> {
        Self::connect(reference, options, resolver, RegistryOperation::Pull).await
    }

    /// Reaches the registry of `reference` and logs in for reading and writing.
    ///
    /// # Errors
    ///
    /// As [`Repository::for_reading`], and [`Error::PushToDigest`] where `reference` names a digest.
    pub async fn for_writing(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Self, Error> {
        if reference.digest().is_some() {
            return Err(Error::PushToDigest { name: reference.whole() });
        }
        Self::connect(reference, options, resolver, RegistryOperation::Push).await
    }

    async fn connect(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
        operation: RegistryOperation,
    ) -> Result<Self, Error> {
        // Whoever came first has chosen; it is ring either way.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let registry = reference.resolve_registry();
        let config = options.config(registry)?;
        let client = oci_client::Client::try_from(config).map_err(|error| Error::Unreachable {
            registry: registry.to_owned(),
            reason: format!("TLS cannot be set up: {}", reason(&error)),
            hint: " (are the system's CA certificates installed?)",
        })?;
        let repository = Self {
            client,
            reference: reference.clone(),
            credentials: resolver.resolve(reference)?,
            backoff: options.backoff,
        };
        let action = if operation == RegistryOperation::Push { "push to" } else { "pull from" };
        let auth = &repository.credentials.auth;
        let login = || repository.client.auth(reference, auth, operation);
        let token =
            repository.backoff.run(login).await.map_err(|error| repository.error(&error, action, ""))?;
        // The library puts the token into a header as it is.
        if token.is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(Error::Mismatch {
                registry: registry.to_owned(),
                what: "the login".into(),
                reason: "its token holds characters that no header may".into(),
            });
        }
        // Pushing reads too, to see what is there already.
        if operation == RegistryOperation::Push {
            let read = || repository.client.auth(reference, auth, RegistryOperation::Pull);
            repository.backoff.run(read).await.map_err(|error| repository.error(&error, action, ""))?;
        }
        Ok(repository)
    }

    /// The image that the reference names, with its layers only named. Of one for several platforms, the one for
    /// `platform` is taken; where there is none, the first.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] where there is none, [`Error::Mismatch`] where the registry gives other bytes than it says,
    /// [`Error::Layout`] where it is no image.
    pub async fn image(&self, platform: &Platform) -> Result<Image, Error> {
        let mut reference = self.reference.clone();
        for _ in 0..4 {
            let manifest = self.manifest(&reference).await?;
            if manifest.descriptor().media_type() != &MediaType::ImageIndex {
                let bytes = manifest.document()?;
                let config = serde_json::from_slice::<oci_spec::image::ImageManifest>(&bytes)
                    .map_err(|error| layout::Error::malformed(reference.whole(), "image manifest", &error))?
                    .config()
                    .clone();
                if config.size() > layout::DOCUMENT_LIMIT {
                    let what = format!("the configuration of {}", self.reference.whole());
                    return Err(layout::Error::TooLarge { what, limit: layout::DOCUMENT_LIMIT }.into());
                }
                let config = self.fetch(&Blob::absent(config), &Progress::hidden()).await?;
                return Ok(Image::read(manifest, |descriptor| {
                    if descriptor.digest() == config.digest() {
                        config.clone()
                    } else {
                        Blob::absent(descriptor)
                    }
                })?);
            }
            let index: ImageIndex = serde_json::from_slice(&manifest.document()?)
                .map_err(|error| layout::Error::malformed(reference.whole(), "image index", &error))?;
            let chosen = layout::choose(&index, platform).ok_or_else(|| {
                layout::Error::malformed(reference.whole(), "image index", "it names no image")
            })?;
            reference = reference.clone_with_digest(chosen.digest().to_string());
        }
        Err(layout::Error::malformed(self.reference.whole(), "image", "indexes are nested too deep").into())
    }

    /// The digest of what the reference names, be it an image or an index of images for several platforms, and those
    /// platforms: nothing where an image does not say which one it is for.
    ///
    /// # Errors
    ///
    /// As [`Repository::image`].
    pub async fn digest(&self) -> Result<(oci_spec::image::Digest, Vec<Platform>), Error> {
        let manifest = self.manifest(&self.reference).await?;
        let mut platforms = Vec::new();
        if manifest.descriptor().media_type() == &MediaType::ImageIndex {
            let index: ImageIndex = serde_json::from_slice(&manifest.document()?)
                .map_err(|error| layout::Error::malformed(self.reference.whole(), "image index", &error))?;
            // Attestations stand among the images with an unknown platform.
            let known = index.manifests().iter().filter_map(|descriptor| descriptor.platform().as_ref());
            platforms.extend(known.filter(|platform| platform.os().to_string() != "unknown").map(
                |platform| Platform {
                    os: platform.os().to_string(),
                    architecture: platform.architecture().to_string(),
                    variant: platform.variant().clone(),
                },
            ));
        } else {
            let image = self.image(&Platform::default()).await?;
            let config: serde_json::Value =
                serde_json::from_slice(&image.config().document()?).map_err(|error| {
                    layout::Error::malformed(self.reference.whole(), "image configuration", &error)
                })?;
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

    /// A manifest or an index, its media type made OCI's.
    async fn manifest(&self, reference: &Reference) -> Result<Blob, Error> {
        let pull = || self.client.pull_manifest_raw(reference, &self.credentials.auth, &MANIFEST_TYPES);
        let (bytes, _) =
            self.backoff.run(pull).await.map_err(|error| self.error(&error, "read", &reference.whole()))?;
        let value: serde_json::Value = serde_json::from_slice(&bytes)
            .map_err(|error| layout::Error::malformed(reference.whole(), "image manifest", &error))?;
        let is_index = value["manifests"].is_array();
        let media_type = if is_index { MediaType::ImageIndex } else { MediaType::ImageManifest };
        Ok(Blob::from_bytes(media_type, bytes.to_vec()))
    }

    /// Fetches the bytes of a blob into a temporary file; what is at hand already is given back as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] where the registry gives other bytes than were promised, [`Error::Layout`] where the
    /// temporary folder is full.
    pub async fn fetch(&self, blob: &Blob, progress: &Progress) -> Result<Blob, Error> {
        if blob.is_present() {
            return Ok(blob.clone());
        }
        progress.expect(blob.size());
        let mut pause = self.backoff.first;
        let mut attempt = 1;
        loop {
            match self.fetch_once(blob.descriptor(), progress).await {
                Err(Fetch::Broken(text)) if attempt < self.backoff.attempts => {
                    drop(text);
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    attempt += 1;
                }
                Ok(blob) => return Ok(blob),
                Err(Fetch::Broken(reason)) => {
                    return Err(Error::Answer {
                        registry: self.registry(),
                        action: "give",
                        what: format!("the blob {}", blob.digest()),
                        reason,
                    });
                }
                Err(Fetch::Final(error)) => return Err(error),
            }
        }
    }

    async fn fetch_once(&self, descriptor: &Descriptor, progress: &Progress) -> Result<Blob, Fetch> {
        let digest = descriptor.digest().as_ref();
        let what = format!("the blob {digest}");
        let mismatch = |reason: String| {
            Fetch::Final(Error::Mismatch { registry: self.registry(), what: what.clone(), reason })
        };
        let open = || self.client.pull_blob_stream(&self.reference, digest);
        let mut stream =
            self.backoff.run(open).await.map_err(|error| Fetch::Final(self.error(&error, "give", &what)))?;
        let temporary = tempfile::Builder::new()
            .prefix("bundle-tool-blob-")
            .tempfile()
            .map_err(|error| Fetch::Final(layout::Error::temporary(error).into()))?;
        let (file, path) = temporary.into_parts();
        let mut file = Hashing::new(file);
        while let Some(chunk) = stream.next().await {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) if by_stream(&error) == Kind::Mismatch => return Err(mismatch(error.to_string())),
                Err(error) => {
                    progress.take_back(file.size());
                    return Err(Fetch::Broken(super::error::innermost(&error)));
                }
            };
            if file.size() + chunk.len() as u64 > descriptor.size() {
                return Err(mismatch(format!(
                    "more than the {} bytes that were promised",
                    descriptor.size()
                )));
            }
            file.write_all(&chunk).map_err(|error| Fetch::Final(layout::Error::temporary(error).into()))?;
            progress.advance(chunk.len() as u64);
        }
        let (found, size, _) = file.finish();
        if size != descriptor.size() {
            return Err(mismatch(format!("{size} bytes and not the promised {}", descriptor.size())));
        }
        if &found != descriptor.digest() {
            return Err(mismatch(format!("the bytes have the digest {found}")));
        }
        Ok(Blob::from_temporary(descriptor.clone(), path))
    }

    pub(super) fn registry(&self) -> String {
        self.reference.registry().to_owned()
    }

    /// What an answer means to the user who wanted to `action` `what`.
    pub(super) fn error(&self, error: &OciDistributionError, action: &'static str, what: &str) -> Error {
        let registry = self.registry();
        let reason = reason(error);
        match kind(error) {
            Kind::Unreachable => {
                let hint = if reason.contains("UnknownIssuer") {
                    " (name the certificate of its authority with --ca-file)"
                } else if reason.contains("corrupt message") || reason.contains("InvalidContentType") {
                    " (it seems to speak plain HTTP: --plain-http)"
                } else {
                    " (is the address right, and does it run?)"
                };
                Error::Unreachable { registry, reason, hint }
            }
            Kind::Refused => {
                let advice = if self.credentials.is_anonymous() {
                    "log in with podman or docker login, or name a file in REGISTRY_AUTH_FILE"
                } else {
                    "check that they may do this, or log in anew"
                };
                let action = if action == "read" || action == "give" { "pull from" } else { "push to" };
                Error::Refused {
                    registry,
                    repository: self.reference.repository().to_owned(),
                    who: self.credentials.to_string(),
                    action,
                    reason: format!("{reason}; {advice}"),
                }
            }
            Kind::Missing if action == "read" => Error::NotFound { name: what.to_owned() },
            Kind::Mismatch => Error::Mismatch { registry, what: what.to_owned(), reason },
            Kind::Missing | Kind::Transient | Kind::Final => {
                let what = if what.is_empty() { self.reference.repository() } else { what };
                Error::Answer { registry, action, what: what.to_owned(), reason }
            }
        }
    }
}

/// How fetching a blob failed: whether another attempt may help.
enum Fetch {
    Broken(String),
    Final(Error),
}
