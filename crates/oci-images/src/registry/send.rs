//! Sending one blob: only if the registry lacks it, mounted from another repository if it has it there, and resumed if the
//! connection breaks.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::channel::mpsc;
use futures::{FutureExt, SinkExt};
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue, LOCATION, RANGE};
use reqwest::{Method, StatusCode, Url};

use super::client::{CONTENT_DIGEST, Repository};
use super::error::Error;
use super::failure::Failure;
use super::http::{Payload, Request, Response};
use super::progress::Progress;
use super::retry::Attempts;
use super::upload::{PartSent, PassedOn, Upload};
use crate::layout::{Blob, Hashing};

/// Blobs beyond this size, in bytes, are sent so that the upload can be resumed, which takes one more request.
const RESUMABLE: u64 = 4 << 20;

/// How a blob got into a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlobOutcome {
    /// The repository already had the blob.
    Present,
    /// The registry mounted it from another repository.
    Mounted,
    /// Its bytes were sent.
    Uploaded,
}

/// An upload that the registry has opened.
enum Opened {
    /// The registry mounted the blob; no upload is needed.
    Mounted,
    /// Where the bytes go.
    At(Url),
}

/// Why a blob could not be passed on.
enum PassFailure {
    /// It could not be fetched.
    Source(Failure),
    /// It could not be sent.
    Target(Failure),
}

/// Passes the body of a response on, and its last chunk only if all of it is the blob.
async fn pass_chunks(
    mut response: Response<'_>,
    blob: &Blob,
    mut sender: mpsc::Sender<Bytes>,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut sent = PartSent::new(progress.clone(), blob.size());
    let mut hashing = Hashing::new(());
    let mut held: Option<Bytes> = None;
    let ended = |_| Failure::Broken("the upload ended".into());
    while let Some(chunk) = response.chunk().await? {
        hashing.count(&chunk);
        if hashing.size() > blob.size() {
            return Err(Failure::Invalid(format!("more than the {} bytes expected", blob.size())));
        }
        if let Some(chunk) = held.replace(chunk) {
            let length = chunk.len() as u64;
            sender.send(chunk).await.map_err(ended)?;
            sent.add(length);
        }
    }
    if hashing.size() < blob.size() {
        return Err(Failure::Broken(format!("{} of {} bytes arrived", hashing.size(), blob.size()).into()));
    }
    let digest = hashing.digest();
    if digest != *blob.digest() {
        return Err(Failure::Invalid(format!("the content has the digest {digest}")));
    }
    if let Some(chunk) = held {
        let length = chunk.len() as u64;
        sender.send(chunk).await.map_err(ended)?;
        sent.add(length);
    }
    Ok(())
}

impl Repository {
    /// Returns whether the registry stores a blob or a manifest.
    pub(crate) async fn stores(&self, blob: &Blob) -> Result<bool, Error> {
        let what = format!("the blob {}", blob.digest());
        let has_blob = self.has_blob(blob).await;
        if has_blob.map_err(|failure| self.session.error(failure, "look up", &what))? {
            return Ok(true);
        }
        let is_manifest = blob.is_present();
        Ok(is_manifest && self.find(blob.digest().as_ref()).await?.is_some())
    }

    /// Sends a blob unless the registry has it. Bytes that are absent come from `source`.
    pub(crate) async fn push_blob(
        &self,
        blob: &Blob,
        source: Option<&Repository>,
        progress: &Progress,
    ) -> Result<BlobOutcome, Error> {
        // Images that are sent beside this one may have the same blob.
        let lock = self.session.upload_lock(blob.digest().as_ref()).await;
        let sent = self.push_unlocked(blob, source, progress).await;
        if sent.is_err() {
            lock.fail();
        }
        sent
    }

    async fn push_unlocked(
        &self,
        blob: &Blob,
        source: Option<&Repository>,
        progress: &Progress,
    ) -> Result<BlobOutcome, Error> {
        let what = format!("the blob {}", blob.digest());
        let present = self.has_blob(blob).await;
        if present.map_err(|failure| self.session.error(failure, "look up", &what))? {
            return Ok(BlobOutcome::Present);
        }
        let store = |failure| self.session.error(failure, "store", &what);
        let mut opened = None;
        // What was built here is nowhere else.
        if self.session.mount_from().is_some() && !blob.is_present() {
            match self.session.run(|| self.open_upload(blob)).await.map_err(store)? {
                Opened::Mounted => return Ok(BlobOutcome::Mounted),
                Opened::At(url) => opened = Some(url),
            }
        }
        let blob = match source {
            Some(source) if !blob.is_present() && blob.size() > RESUMABLE => {
                match self.pass_on(blob, source, opened.take(), progress).await {
                    Ok(outcome) => return Ok(outcome),
                    // A file can be fetched and sent in several attempts.
                    Err(PassFailure::Source(failure) | PassFailure::Target(failure))
                        if failure.may_succeed_later() =>
                    {
                        source.fetch(blob, progress).await?
                    }
                    Err(PassFailure::Source(failure)) => {
                        return Err(source.session.error(failure, "return", &what));
                    }
                    Err(PassFailure::Target(failure)) => return Err(store(failure)),
                }
            }
            Some(source) => source.fetch(blob, progress).await?,
            None => blob.clone(),
        };
        progress.expect(blob.size());
        self.upload(&blob, opened, progress).await.map_err(store)
    }

    /// Sends a blob while it is fetched from `source`, once, without a temporary file. The last bytes are sent when the digest is
    /// verified.
    async fn pass_on(
        &self,
        blob: &Blob,
        source: &Repository,
        opened: Option<Url>,
        progress: &Progress,
    ) -> Result<BlobOutcome, PassFailure> {
        use PassFailure::{Source, Target};
        let url = match opened {
            Some(url) => url,
            None => match self.open_upload(blob).await.map_err(Target)? {
                Opened::At(url) => url,
                Opened::Mounted => return Ok(BlobOutcome::Mounted),
            },
        };
        let url_of_blob = source.session.url(&format!("blobs/{}", blob.digest())).map_err(Source)?;
        let get = Request::new(Method::GET, url_of_blob);
        let response = source.session.expect(&get, &[StatusCode::OK]).await.map_err(Source)?;
        let (sender, chunks) = mpsc::channel(0);
        let patch = Request::new(Method::PATCH, url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))
            .payload(Payload::PassedOn(Arc::new(PassedOn::new(chunks, blob.size()))));
        progress.expect(blob.size());
        let mut fetching = pin!(pass_chunks(response, blob, sender, progress));
        let mut sending = pin!(self.session.expect(&patch, &[StatusCode::ACCEPTED]));
        let response = tokio::select! {
            biased;
            fetched = &mut fetching => {
                fetched.map_err(Source)?;
                sending.await.map_err(Target)?
            }
            sent = &mut sending => {
                let response = sent.map_err(Target)?;
                let fetched = fetching.now_or_never();
                let early = || Failure::Broken("the registry answered before the upload was complete".into());
                fetched.ok_or_else(|| Target(early()))?.map_err(Source)?;
                response
            }
        };
        let mut url = self.upload_location(&response).map_err(Target)?;
        url.query_pairs_mut().append_pair("digest", blob.digest().as_ref());
        let put = Request::new(Method::PUT, url);
        self.session.run(|| self.session.expect(&put, &[StatusCode::CREATED])).await.map_err(Target)?;
        Ok(BlobOutcome::Uploaded)
    }

    /// True if the registry certainly has the blob: it answers with status 200, and with digest and size of the blob
    /// if it names them. In doubt the blob is sent.
    pub(crate) async fn has_blob(&self, blob: &Blob) -> Result<bool, Failure> {
        let request = Request::new(Method::HEAD, self.session.url(&format!("blobs/{}", blob.digest()))?);
        self.session
            .run(|| async {
                let response = self.session.send(&request).await?;
                let status = response.status();
                let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
                    && response.url() == &request.url;
                if is_refused || status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                    return Err(response.failure().await);
                }
                let digest = response.header(&CONTENT_DIGEST);
                Ok(status == StatusCode::OK
                    && digest.is_none_or(|digest| digest == blob.digest().as_ref())
                    && response.claimed_length().is_none_or(|length| length == blob.size()))
            })
            .await
    }

    /// Returns the size of a blob; `None` if the registry does not have it.
    #[cfg(feature = "server")]
    pub(crate) async fn blob_size(&self, digest: &oci_spec::image::Digest) -> Result<Option<u64>, Failure> {
        let request = Request::new(Method::HEAD, self.session.url(&format!("blobs/{digest}"))?);
        self.session
            .run(|| async {
                let response = self.session.send(&request).await?;
                match response.status() {
                    StatusCode::OK => response.claimed_length().map(Some).ok_or_else(|| {
                        Failure::Invalid("the registry does not report the size of a blob".into())
                    }),
                    StatusCode::NOT_FOUND => Ok(None),
                    _ => Err(response.failure().await),
                }
            })
            .await
    }

    /// Opens an upload, or mounts the blob from the other repository. A registry that refuses to mount, for example because these
    /// credentials may not read the other repository, is asked for an upload instead.
    async fn open_upload(&self, blob: &Blob) -> Result<Opened, Failure> {
        let url = self.session.url("blobs/uploads/")?;
        if let Some(name) = self.session.mount_from() {
            let mut mount = url.clone();
            mount.query_pairs_mut().append_pair("mount", blob.digest().as_ref()).append_pair("from", name);
            match self.mount(blob, mount).await {
                Err(failure) if failure.is_refusal() => self.session.refuse_mount(),
                result => return result,
            }
        }
        let response = self.session.expect(&Request::new(Method::POST, url), &[StatusCode::ACCEPTED]).await?;
        Ok(Opened::At(self.upload_location(&response)?))
    }

    /// Mounts a blob from another repository, or opens an upload if the registry prefers that.
    async fn mount(&self, blob: &Blob, url: Url) -> Result<Opened, Failure> {
        let mount = Request::new(Method::POST, url);
        let response = self.session.expect(&mount, &[StatusCode::ACCEPTED, StatusCode::CREATED]).await?;
        if response.status() == StatusCode::ACCEPTED {
            return Ok(Opened::At(self.upload_location(&response)?));
        }
        drop(response);
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
    ) -> Result<BlobOutcome, Failure> {
        let mut attempts = self.session.attempts();
        loop {
            let mut received = 0;
            let may_have_expired = opened.is_some();
            match self.upload_once(blob, opened.take(), &mut received, &mut attempts, progress).await {
                Err(Failure::Status { status: StatusCode::NOT_FOUND, .. }) if may_have_expired => {}
                Ok(sent) => return Ok(sent),
                // The end may have arrived, and only the response got lost.
                Err(_) if received == blob.size() && matches!(self.has_blob(blob).await, Ok(true)) => {
                    return Ok(BlobOutcome::Uploaded);
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
    ) -> Result<BlobOutcome, Failure> {
        let mut url = match opened {
            Some(url) => url,
            None => match self.open_upload(blob).await? {
                Opened::At(url) => url,
                Opened::Mounted => return Ok(BlobOutcome::Mounted),
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
        Ok(BlobOutcome::Uploaded)
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
                Ok(response) => {
                    let next = self.upload_location(&response)?;
                    match self.received(&response) {
                        Some(size) if size != blob.size() => Failure::Broken(
                            format!("the registry received {size} of {} bytes", blob.size()).into(),
                        ),
                        _ => {
                            *received = blob.size();
                            return Ok(next);
                        }
                    }
                }
                Err(failure) => failure,
            };
            let status = Request::new(Method::GET, url.clone());
            let response = loop {
                attempts.pause(failure).await?;
                match self.session.expect(&status, &[StatusCode::NO_CONTENT, StatusCode::OK]).await {
                    Ok(response) => break response,
                    // The upload is gone; another one may succeed.
                    Err(Failure::Status { status: StatusCode::NOT_FOUND, .. }) => {
                        return Err(Failure::Broken("the registry discarded the upload".into()));
                    }
                    Err(another) => failure = another,
                }
            };
            *received = self.received(&response).filter(|size| *size <= blob.size()).ok_or_else(|| {
                Failure::Invalid("the registry does not report how much of an upload it has received".into())
            })?;
            if response.header(&LOCATION).is_some() {
                url = self.upload_location(&response)?;
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
    fn received(&self, response: &Response<'_>) -> Option<u64> {
        let range = response.header(&RANGE)?;
        let (first, last) = range.trim_start_matches("bytes=").split_once('-')?;
        let last: u64 = last.parse().ok()?;
        (first == "0").then(|| if last == 0 { 0 } else { last.saturating_add(1) })
    }

    fn upload_location(&self, response: &Response<'_>) -> Result<Url, Failure> {
        let location = response.header(&LOCATION).filter(|location| !location.is_empty());
        let location =
            location.ok_or_else(|| Failure::Invalid("the upload was opened without a location".into()))?;
        self.session.http.target(response.url(), &location)
    }
}
