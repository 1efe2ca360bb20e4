//! Sending an image to a registry.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Method, StatusCode, Url};

use super::client::CONTENT_DIGEST;
use super::http::{Answer, Failure, Payload, Request};
use super::pull::PARALLEL;
use super::upload::Upload;
use super::{Error, Progress, Repository};
use crate::layout::{Blob, Image, sha256};

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pushed {
    /// The image by its digest: `registry.example.com/name@sha256:…`.
    pub reference: String,
    /// The number of blobs that were sent.
    pub sent: usize,
    /// The number of blobs that the registry had.
    pub present: usize,
}

impl Repository {
    /// Pushes `image` to this repository's tag: the blobs that the registry lacks, in parallel, then the manifest.
    ///
    /// Layers without their bytes are fetched from `base` if the registry lacks them. At the end, the registry's
    /// digest of the tag is compared with the image's.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], [`Error::Denied`], [`Error::Failed`]; [`Error::Invalid`] if the registry has something
    /// else under the tag afterwards; [`Error::Layout`] if a blob cannot be read.
    pub async fn push(
        &self,
        image: &Image,
        base: Option<&Repository>,
        progress: &Progress,
    ) -> Result<Pushed, Error> {
        // By digest: an image may contain the same layer twice.
        let blobs: BTreeMap<&str, &Blob> = image.blobs().map(|blob| (blob.digest().as_ref(), blob)).collect();
        let sent: Vec<bool> = stream::iter(blobs.into_values())
            .map(|blob| self.push_blob(blob, base, progress))
            .buffer_unordered(PARALLEL)
            .try_collect()
            .await?;
        let name = self.reference.whole();
        self.push_manifest(image.manifest())
            .await
            .map_err(|failure| self.session.error(failure, "store", &name))?;
        let expected = image.digest().as_ref();
        let found = self
            .tag_digest()
            .await
            .map_err(|failure| self.session.error(failure, "return the digest of", &name))?;
        if found != expected {
            return Err(Error::Invalid {
                registry: self.registry().to_owned(),
                what: name,
                reason: format!("pushed {expected}, but the tag has the digest `{found}`"),
            });
        }
        let present = sent.iter().filter(|sent| !**sent).count();
        Ok(Pushed {
            reference: format!("{}/{}@{expected}", self.reference.registry(), self.reference.repository()),
            sent: sent.len() - present,
            present,
        })
    }

    /// Sends a blob unless the registry has it. Returns whether it was sent.
    async fn push_blob(
        &self,
        blob: &Blob,
        base: Option<&Repository>,
        progress: &Progress,
    ) -> Result<bool, Error> {
        let what = format!("the blob {}", blob.digest());
        let present = self.has_blob(blob).await;
        if present.map_err(|failure| self.session.error(failure, "look up", &what))? {
            return Ok(false);
        }
        let blob = match base {
            Some(base) => base.fetch(blob, progress).await?,
            None => blob.clone(),
        };
        progress.expect(blob.size());
        let sent = self.session.run(|| self.upload(&blob, progress)).await;
        sent.map_err(|failure| self.session.error(failure, "store", &what))?;
        Ok(true)
    }

    /// True if the registry certainly has the blob: it answers with status 200, and with digest and size of the blob
    /// if it names them. In doubt the blob is sent.
    async fn has_blob(&self, blob: &Blob) -> Result<bool, Failure> {
        let request = Request::new(Method::HEAD, self.session.url(&format!("blobs/{}", blob.digest()))?);
        self.session
            .run(|| async {
                let answer = self.session.send(&request).await?;
                let status = answer.status();
                let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
                    && answer.url() == &request.url;
                if is_refused || status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                    return Err(answer.failure().await);
                }
                let digest = answer.header(&CONTENT_DIGEST);
                Ok(status == StatusCode::OK
                    && digest.is_none_or(|digest| digest == blob.digest().as_ref())
                    && answer.claimed_length().is_none_or(|length| length == blob.size()))
            })
            .await
    }

    /// Sends a blob: opens an upload, and sends all bytes to where the registry wants them.
    async fn upload(&self, blob: &Blob, progress: &Progress) -> Result<(), Failure> {
        let open = Request::new(Method::POST, self.session.url("blobs/uploads/")?);
        let answer = self.session.expect(&open, &[StatusCode::ACCEPTED]).await?;
        let mut url = self.upload_location(&answer)?;
        drop(answer);
        url.query_pairs_mut().append_pair("digest", blob.digest().as_ref());
        let put = Request::new(Method::PUT, url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))
            .payload(Payload::Upload(Arc::new(Upload::whole(blob.clone(), progress.clone()))));
        self.session.expect(&put, &[StatusCode::CREATED]).await?;
        Ok(())
    }

    fn upload_location(&self, answer: &Answer<'_>) -> Result<Url, Failure> {
        let location = answer.header(&LOCATION).filter(|location| !location.is_empty());
        let location =
            location.ok_or_else(|| Failure::Invalid("the upload was opened without a location".into()))?;
        self.session.http.target(answer.url(), &location)
    }

    async fn push_manifest(&self, manifest: &Blob) -> Result<(), Failure> {
        let bytes = Bytes::from(manifest.document().map_err(Failure::Local)?);
        let media_type = HeaderValue::from_str(manifest.descriptor().media_type().as_ref())
            .map_err(|_| Failure::Invalid("the image has an invalid media type".into()))?;
        let tag = self.reference.tag().unwrap_or("latest");
        let request = Request::new(Method::PUT, self.session.url(&format!("manifests/{tag}"))?)
            .header(CONTENT_TYPE, media_type)
            .payload(Payload::Bytes(bytes));
        // The specification asks for 201; what the tag names is verified in any case.
        let accepted = [StatusCode::CREATED, StatusCode::OK, StatusCode::ACCEPTED];
        self.session.run(|| async { self.session.expect(&request, &accepted).await.map(drop) }).await
    }

    /// Returns the digest of what the tag names now.
    async fn tag_digest(&self) -> Result<String, Failure> {
        let tag = self.reference.tag().unwrap_or("latest");
        let request = Request::new(Method::HEAD, self.session.url(&format!("manifests/{tag}"))?)
            .header(reqwest::header::ACCEPT, HeaderValue::from_static(super::client::MANIFEST_TYPES));
        let claimed = self
            .session
            .run(|| async {
                let answer = self.session.expect(&request, &[StatusCode::OK]).await?;
                Ok(answer.header(&CONTENT_DIGEST))
            })
            .await?;
        match claimed {
            Some(digest) => Ok(self.session.http.secrets.clean(&digest)),
            None => Ok(sha256(&self.manifest_bytes(tag).await?).to_string()),
        }
    }
}
