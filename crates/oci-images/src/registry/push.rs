//! Sending images and indexes to a registry.

use futures::stream::{self, StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};

use bytes::Bytes;

use super::client::{CONTENT_DIGEST, MANIFEST_TYPES, Repository};
use super::error::Error;
use super::failure::Failure;
use super::http::{Payload, Request};
use super::progress::Progress;
use super::send::BlobOutcome;
use crate::layout::{Artifact, Blob, sha256};

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pushed {
    /// The image by its digest: `registry.example.com/name@sha256:…`.
    pub reference: String,
    /// The number of blobs that were sent.
    pub sent: usize,
    /// The number of blobs that the registry had in the other repository.
    pub mounted: usize,
    /// The number of blobs that the registry had.
    pub present: usize,
}

/// How a registry stored a manifest.
pub(crate) struct Stored {
    /// Whether the registry lists the manifest among the referrers of its subject.
    pub(crate) lists_referrers: bool,
}

/// The header with the digest of the subject, from a registry that lists referrers.
const SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

impl Repository {
    /// Pushes an image or an index to this repository's tag or digest: the blobs that the registry lacks, in parallel, then
    /// the manifests, each after what it refers to.
    ///
    /// Blobs without their bytes are fetched from `source` if the registry lacks them. At the end, the registry's
    /// digest of the tag is compared with the image's.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], [`Error::Denied`], [`Error::Failed`]; [`Error::PushToDigest`] if this repository's digest is
    /// another one; [`Error::Invalid`] if the registry has something else under the tag afterwards; [`Error::Layout`] if
    /// a blob cannot be read.
    pub async fn push(
        &self,
        artifact: impl Into<Artifact>,
        source: Option<&Repository>,
        progress: &Progress,
    ) -> Result<Pushed, Error> {
        let artifact = artifact.into();
        let name = self.reference.to_string();
        let expected = artifact.digest().as_ref();
        if self.reference.digest().is_some_and(|digest| digest != expected) {
            return Err(Error::PushToDigest { name });
        }
        // Owned: the compiler does not see that the future is `Send` otherwise.
        let blobs: Vec<Blob> = artifact.all_blobs().into_values().cloned().collect();
        let sent: Vec<BlobOutcome> = stream::iter(blobs)
            .map(|blob| async move { self.push_blob(&blob, source, progress).await })
            .buffer_unordered(self.session.parallel)
            .try_collect()
            .await?;
        let store = |failure| self.session.error(failure, "store", &name);
        let manifests = artifact.all_manifests();
        for manifest in manifests.iter().take(manifests.len().saturating_sub(1)) {
            self.push_manifest(manifest, manifest.digest().as_ref()).await.map_err(store)?;
        }
        let stored = self.push_manifest(artifact.manifest(), self.version()).await.map_err(store)?;
        if !artifact.is_index() && !stored.lists_referrers {
            self.list_referrer(artifact.manifest()).await.map_err(store)?;
        }
        let found = self
            .pushed_digest()
            .await
            .map_err(|failure| self.session.error(failure, "return the digest of", &name))?;
        if found != expected {
            return Err(Error::Invalid {
                registry: self.registry().to_owned(),
                what: name,
                reason: format!("pushed {expected}, but the tag has the digest `{found}`"),
            });
        }
        let count = |kind| sent.iter().filter(|sent| **sent == kind).count();
        Ok(Pushed {
            reference: format!("{}/{}@{expected}", self.reference.registry(), self.reference.repository()),
            sent: count(BlobOutcome::Uploaded),
            mounted: count(BlobOutcome::Mounted),
            present: count(BlobOutcome::Present),
        })
    }

    /// Returns the tag or the digest of what is read or written.
    pub(crate) fn version(&self) -> &str {
        self.reference.version()
    }

    /// Sends a manifest or an index as a tag or a digest.
    pub(crate) async fn push_manifest(&self, manifest: &Blob, version: &str) -> Result<Stored, Failure> {
        let bytes = Bytes::from(manifest.document().map_err(Failure::Local)?);
        let media_type = HeaderValue::from_str(manifest.descriptor().media_type().as_ref())
            .map_err(|_| Failure::Invalid("the image has an invalid media type".into()))?;
        let request = Request::new(Method::PUT, self.session.url(&format!("manifests/{version}"))?)
            .header(CONTENT_TYPE, media_type)
            .payload(Payload::Bytes(bytes));
        // The specification asks for 201; what the tag names is verified in any case.
        let accepted = [StatusCode::CREATED, StatusCode::OK, StatusCode::ACCEPTED];
        self.session
            .run(|| async {
                let response = self.session.expect(&request, &accepted).await?;
                Ok(Stored { lists_referrers: response.header(&SUBJECT).is_some() })
            })
            .await
    }

    /// Returns the digest of what the tag names now.
    async fn pushed_digest(&self) -> Result<String, Failure> {
        let version = self.version();
        let request = Request::new(Method::HEAD, self.session.url(&format!("manifests/{version}"))?)
            .header(ACCEPT, HeaderValue::from_static(MANIFEST_TYPES));
        let claimed = self
            .session
            .run(|| async {
                let response = self.session.expect(&request, &[StatusCode::OK]).await?;
                Ok(response.header(&CONTENT_DIGEST))
            })
            .await?;
        match claimed {
            Some(digest) => Ok(self.session.http.secrets.clean(&digest)),
            None => Ok(sha256(&self.manifest_bytes(version).await?).to_string()),
        }
    }
}
