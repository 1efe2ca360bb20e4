//! Sending one blob: only if the registry lacks it, mounted from another repository if it has it there, and resumed if the
//! connection breaks.

use std::sync::Arc;

use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue, LOCATION, RANGE};
use reqwest::{Method, StatusCode, Url};

use super::client::{CONTENT_DIGEST, Repository};
use super::error::Error;
use super::failure::Failure;
use super::http::{Answer, Payload, Request};
use super::progress::Progress;
use super::retry::Attempts;
use super::upload::Upload;
use crate::layout::Blob;

/// Blobs beyond this size, in bytes, are sent so that the upload can be resumed, which takes one more request.
const RESUMABLE: u64 = 4 << 20;

/// How a blob got into a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was there.
    Present,
    /// The registry has it in another repository.
    Mounted,
    /// Its bytes were sent.
    Uploaded,
}

/// An upload that the registry has opened.
enum Opened {
    /// It was not necessary.
    Mounted,
    /// Where the bytes go.
    At(Url),
}

impl Repository {
    /// Sends a blob unless the registry has it. Bytes that are absent come from `source`.
    pub(super) async fn push_blob(
        &self,
        blob: &Blob,
        source: Option<&Repository>,
        progress: &Progress,
    ) -> Result<Sent, Error> {
        let what = format!("the blob {}", blob.digest());
        let present = self.has_blob(blob).await;
        if present.map_err(|failure| self.session.error(failure, "look up", &what))? {
            return Ok(Sent::Present);
        }
        let store = |failure| self.session.error(failure, "store", &what);
        let mut opened = None;
        // What was built here is nowhere else.
        if self.session.mount_from.is_some() && !blob.is_present() {
            match self.session.run(|| self.open_upload(blob)).await.map_err(store)? {
                Opened::Mounted => return Ok(Sent::Mounted),
                Opened::At(url) => opened = Some(url),
            }
        }
        let blob = match source {
            Some(source) => source.fetch(blob, progress).await?,
            None => blob.clone(),
        };
        progress.expect(blob.size());
        self.upload(&blob, opened, progress).await.map_err(store)
    }

    /// True if the registry certainly has the blob: it answers with status 200, and with digest and size of the blob
    /// if it names them. In doubt the blob is sent.
    pub(super) async fn has_blob(&self, blob: &Blob) -> Result<bool, Failure> {
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

    /// Returns the size of a blob; `None` if the registry does not have it.
    #[cfg(feature = "server")]
    pub(super) async fn blob_size(&self, digest: &oci_spec::image::Digest) -> Result<Option<u64>, Failure> {
        let request = Request::new(Method::HEAD, self.session.url(&format!("blobs/{digest}"))?);
        self.session
            .run(|| async {
                let answer = self.session.send(&request).await?;
                match answer.status() {
                    StatusCode::OK => answer.claimed_length().map(Some).ok_or_else(|| {
                        Failure::Invalid("the registry does not report the size of a blob".into())
                    }),
                    StatusCode::NOT_FOUND => Ok(None),
                    _ => Err(answer.failure().await),
                }
            })
            .await
    }

    /// Opens an upload, or mounts the blob from the other repository.
    async fn open_upload(&self, blob: &Blob) -> Result<Opened, Failure> {
        let mut url = self.session.url("blobs/uploads/")?;
        if let Some(name) = &self.session.mount_from {
            url.query_pairs_mut().append_pair("mount", blob.digest().as_ref()).append_pair("from", name);
        }
        let open = Request::new(Method::POST, url);
        let answer = self.session.expect(&open, &[StatusCode::ACCEPTED, StatusCode::CREATED]).await?;
        if answer.status() == StatusCode::ACCEPTED {
            return Ok(Opened::At(self.upload_location(&answer)?));
        }
        if self.session.mount_from.is_none() {
            return Err(Failure::Invalid("the upload was opened with status 201 instead of 202".into()));
        }
        drop(answer);
        // A registry that claims to have mounted a blob must have it.
        if self.has_blob(blob).await? {
            return Ok(Opened::Mounted);
        }
        Err(Failure::Invalid("the registry mounted a blob, but does not have it".into()))
    }

    /// Sends all bytes of a blob, with retries: first to `opened`, an upload that may have expired.
    async fn upload(
        &self,
        blob: &Blob,
        mut opened: Option<Url>,
        progress: &Progress,
    ) -> Result<Sent, Failure> {
        let mut attempts = self.session.attempts();
        loop {
            let mut received = 0;
            let may_have_expired = opened.is_some();
            match self.upload_once(blob, opened.take(), &mut received, &mut attempts, progress).await {
                Err(Failure::Status { status: StatusCode::NOT_FOUND, .. }) if may_have_expired => {}
                Ok(sent) => return Ok(sent),
                // The end may have arrived, and only the response got lost.
                Err(_) if received == blob.size() && matches!(self.has_blob(blob).await, Ok(true)) => {
                    return Ok(Sent::Uploaded);
                }
                Err(failure) => attempts.pause(failure).await?,
            }
        }
    }

    /// Sends all bytes in one upload; `received` is how many the registry had last. `attempts` are those of the blob, so that they do
    /// not multiply with those of its parts.
    async fn upload_once(
        &self,
        blob: &Blob,
        opened: Option<Url>,
        received: &mut u64,
        attempts: &mut Attempts,
        progress: &Progress,
    ) -> Result<Sent, Failure> {
        let mut url = match opened {
            Some(url) => url,
            None => match self.open_upload(blob).await? {
                Opened::At(url) => url,
                Opened::Mounted => return Ok(Sent::Mounted),
            },
        };
        *received = 0;
        let is_whole = blob.size() <= RESUMABLE;
        if !is_whole {
            url = self.append_all(blob, url, received, attempts, progress).await?;
        }
        url.query_pairs_mut().append_pair("digest", blob.digest().as_ref());
        let put = Request::new(Method::PUT, url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        if is_whole {
            let upload = Upload::from(blob.clone(), 0, progress.clone());
            let put = put.payload(Payload::Upload(Arc::new(upload)));
            self.session.expect(&put, &[StatusCode::CREATED]).await?;
        } else {
            while let Err(failure) = self.session.expect(&put, &[StatusCode::CREATED]).await {
                attempts.pause(failure).await?;
            }
        }
        Ok(Sent::Uploaded)
    }

    /// Sends all bytes but does not complete the upload at `url`. After a break, the registry is asked how many bytes it
    /// has, and the others follow. Returns where the upload is completed.
    async fn append_all(
        &self,
        blob: &Blob,
        mut url: Url,
        received: &mut u64,
        attempts: &mut Attempts,
        progress: &Progress,
    ) -> Result<Url, Failure> {
        loop {
            let offset = *received;
            let upload = Upload::from(blob.clone(), offset, progress.clone());
            let mut patch = Request::new(Method::PATCH, url.clone())
                .header(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))
                .payload(Payload::Upload(Arc::new(upload)));
            if offset > 0 {
                let range = format!("{offset}-{}", blob.size() - 1);
                let range =
                    HeaderValue::from_str(&range).map_err(|error| Failure::Invalid(error.to_string()))?;
                patch = patch.header(CONTENT_RANGE, range);
            }
            let mut failure = match self.session.expect(&patch, &[StatusCode::ACCEPTED]).await {
                Ok(answer) => {
                    let next = self.upload_location(&answer)?;
                    match self.received(&answer) {
                        Some(size) if size != blob.size() => {
                            Failure::Broken(format!("the registry received {size} of {} bytes", blob.size()))
                        }
                        _ => {
                            *received = blob.size();
                            return Ok(next);
                        }
                    }
                }
                Err(failure) => failure,
            };
            let status = Request::new(Method::GET, url.clone());
            let answer = loop {
                attempts.pause(failure).await?;
                match self.session.expect(&status, &[StatusCode::NO_CONTENT, StatusCode::OK]).await {
                    Ok(answer) => break answer,
                    // The upload is gone; another one may succeed.
                    Err(Failure::Status { status: StatusCode::NOT_FOUND, .. }) => {
                        return Err(Failure::Broken("the registry discarded the upload".into()));
                    }
                    Err(another) => failure = another,
                }
            };
            *received = self.received(&answer).filter(|size| *size <= blob.size()).ok_or_else(|| {
                Failure::Invalid("the registry does not report how much of an upload it has received".into())
            })?;
            if answer.header(&LOCATION).is_some() {
                url = self.upload_location(&answer)?;
            }
            attempts.reached(*received);
            progress.advance(received.saturating_sub(offset));
            if *received == blob.size() {
                return Ok(url);
            }
        }
    }

    /// Returns the number of bytes that the registry reports for an upload. The specification's form for none and for one
    /// byte is the same, and stands for none here.
    #[allow(clippy::unused_self, reason = "it belongs to the requests above")]
    fn received(&self, answer: &Answer<'_>) -> Option<u64> {
        let range = answer.header(&RANGE)?;
        let (first, last) = range.trim_start_matches("bytes=").split_once('-')?;
        let last: u64 = last.parse().ok()?;
        (first == "0").then(|| if last == 0 { 0 } else { last.saturating_add(1) })
    }

    fn upload_location(&self, answer: &Answer<'_>) -> Result<Url, Failure> {
        let location = answer.header(&LOCATION).filter(|location| !location.is_empty());
        let location =
            location.ok_or_else(|| Failure::Invalid("the upload was opened without a location".into()))?;
        self.session.http.target(answer.url(), &location)
    }
}
