//! Uploads of blobs: in one piece, in chunks, or mounted from another repository.
//!
//! An upload in progress is a file in `uploads/` that is open only while a request writes to it, so that abandoned
//! uploads occupy no descriptors. They expire, and their number and size are limited.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, LOCATION, RANGE};
use http::{StatusCode, Uri};
use oci_spec::image::Digest;
use tempfile::TempPath;

use super::body::RequestReader;
use super::limits::Limits;
use super::response::{Code, Failure, Request, Response, digest_header, empty, set};
use super::route;
use super::store::Store;
use crate::layout::Hashing;

/// The uploads in progress. They do not outlive the process.
#[derive(Debug)]
pub(crate) struct Uploads {
    limits: Limits,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// The size of all uploads in progress in bytes.
    bytes: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Session {
    repository: String,
    started: Instant,
    used: Mutex<Instant>,
    upload: tokio::sync::Mutex<Upload>,
}

/// The bytes of an upload. The file is removed on drop, unless it is complete.
#[derive(Debug)]
struct Upload {
    /// `None` when the upload is complete.
    file: Option<TempPath>,
    hashing: Hashing<()>,
    all_bytes: Arc<AtomicU64>,
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(self.hashing.size(), Ordering::Relaxed);
    }
}

impl Uploads {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, sessions: Mutex::default(), bytes: Arc::default() }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        // No panic can leave the map half changed.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, name: &str, id: &str) -> Result<Arc<Session>, Failure> {
        let found = self.sessions().get(id).filter(|session| session.repository == name).cloned();
        let session = found.ok_or_else(unknown)?;
        session.touch();
        Ok(session)
    }

    /// Removes uploads that no request has used for too long, or that are too old.
    pub(crate) fn expire(&self) {
        let Limits { upload_idle, upload_age, .. } = self.limits;
        self.sessions().retain(|_, session| {
            let expired = session.idle() >= upload_idle || session.started.elapsed() >= upload_age;
            !expired || session.upload.try_lock().is_err()
        });
    }

    /// Makes room for a new upload.
    fn make_room(&self) -> Result<(), Failure> {
        self.expire();
        let mut sessions = self.sessions();
        if sessions.len() < self.limits.uploads {
            return Ok(());
        }
        let may_go = |session: &Session| {
            session.upload.try_lock().is_ok_and(|upload| {
                upload.hashing.size() == 0 || session.idle() >= self.limits.upload_idle_if_full
            })
        };
        let oldest = sessions
            .iter()
            .filter(|(_, session)| may_go(session))
            .max_by_key(|(_, session)| session.idle())
            .map(|(id, _)| id.clone());
        match oldest {
            Some(id) => {
                sessions.remove(&id);
                Ok(())
            }
            None => Err(Failure::too_many("too many uploads are in progress")),
        }
    }

    fn upload(&self, store: &Store) -> Result<Upload, Failure> {
        let all_bytes = Arc::clone(&self.bytes);
        Ok(Upload { file: Some(store.temporary()?), hashing: Hashing::new(()), all_bytes })
    }

    /// `POST …/blobs/uploads/`: begins an upload, stores a whole blob (`?digest=`) or mounts one (`?mount=&from=`).
    pub(crate) async fn start(
        &self,
        store: &Arc<Store>,
        name: &str,
        request: Request,
    ) -> Result<Response, Failure> {
        let mut query = query(request.uri());
        if let Some(mount) = query.remove("mount") {
            let digest = route::digest(&mount)?;
            if let Some(from) = query.remove("from")
                && store.has_blob(&route::repository(&from)?, &digest)
            {
                store.link_blob(name, &digest)?;
                return Ok(created(name, &digest));
            }
        }
        if let Some(digest) = query.remove("digest") {
            let digest = route::digest(&digest)?;
            let mut upload = self.upload(store)?;
            self.receive(&mut upload, request).await?;
            return complete(store, name, upload, digest).await;
        }
        self.make_room()?;
        let upload = self.upload(store)?;
        let id = upload
            .file
            .as_ref()
            .and_then(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
            .ok_or_else(unknown)?;
        let now = Instant::now();
        let session = Session {
            repository: name.to_owned(),
            started: now,
            used: Mutex::new(now),
            upload: tokio::sync::Mutex::new(upload),
        };
        self.sessions().insert(id.clone(), Arc::new(session));
        Ok(progress(StatusCode::ACCEPTED, name, &id, 0))
    }

    /// `GET`: the progress of an upload.
    pub(crate) async fn status(&self, name: &str, id: &str) -> Result<Response, Failure> {
        let session = self.session(name, id)?;
        let size = self.lock(&session).await?.hashing.size();
        Ok(progress(StatusCode::NO_CONTENT, name, id, size))
    }

    /// `PATCH`: the next chunk.
    pub(crate) async fn append(&self, name: &str, id: &str, request: Request) -> Result<Response, Failure> {
        let session = self.session(name, id)?;
        let mut upload = self.lock(&session).await?;
        check_range(&request, name, id, upload.hashing.size())?;
        let received = self.receive(&mut upload, request).await;
        session.touch();
        received?;
        Ok(progress(StatusCode::ACCEPTED, name, id, upload.hashing.size()))
    }

    /// `PUT`: the last chunk, if any, and the digest of the whole.
    pub(crate) async fn finish(
        &self,
        store: &Arc<Store>,
        name: &str,
        id: &str,
        request: Request,
    ) -> Result<Response, Failure> {
        let digest = query(request.uri())
            .remove("digest")
            .ok_or_else(|| Failure::bad(Code::DigestInvalid, "the query must have a digest"))?;
        let digest = route::digest(&digest)?;
        let session = self.session(name, id)?;
        let mut upload = self.lock(&session).await?;
        check_range(&request, name, id, upload.hashing.size())?;
        let received = self.receive(&mut upload, request).await;
        session.touch();
        received?;
        self.sessions().remove(id);
        let empty = Upload { file: None, hashing: Hashing::new(()), all_bytes: Arc::clone(&self.bytes) };
        complete(store, name, std::mem::replace(&mut *upload, empty), digest).await
    }

    /// `DELETE`: cancels an upload.
    pub(crate) fn cancel(&self, name: &str, id: &str) -> Result<Response, Failure> {
        self.session(name, id)?;
        self.sessions().remove(id);
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// Waits until no other request uses an upload.
    async fn lock<'a>(&self, session: &'a Session) -> Result<tokio::sync::MutexGuard<'a, Upload>, Failure> {
        let locked = tokio::time::timeout(self.limits.http.header_timeout, session.upload.lock()).await;
        let upload = locked.map_err(|_| {
            let message = "another request is writing to this upload";
            Failure::new(StatusCode::CONFLICT, Code::BlobUploadInvalid, message)
        })?;
        if upload.file.is_none() { Err(unknown()) } else { Ok(upload) }
    }

    /// Appends the body of a request. If it is incomplete, the bytes that arrived stay, and the upload can be resumed.
    async fn receive(&self, upload: &mut Upload, request: Request) -> Result<(), Failure> {
        let too_large = || {
            let message = format!("a blob may have at most {} bytes", self.limits.blob_bytes);
            Failure::too_large(Code::SizeInvalid, message)
        };
        let left = self.limits.blob_bytes.saturating_sub(upload.hashing.size());
        if content_length(&request).is_some_and(|length| length > left) {
            return Err(too_large());
        }
        let Some(path) = &upload.file else { return Err(unknown()) };
        let mut file = OpenOptions::new().append(true).open(path)?;
        let mut body = RequestReader::new(request.into_body());
        while let Some(chunk) = body.next().await? {
            let length = chunk.len() as u64;
            if upload.hashing.size() + length > self.limits.blob_bytes {
                return Err(too_large());
            }
            if upload.all_bytes.fetch_add(length, Ordering::Relaxed) + length > self.limits.upload_bytes {
                upload.all_bytes.fetch_sub(length, Ordering::Relaxed);
                return Err(Failure::too_many("the uploads in progress are too large"));
            }
            if let Err(error) = file.write_all(&chunk) {
                upload.all_bytes.fetch_sub(length, Ordering::Relaxed);
                // Part of the chunk may be in the file and not in the digest.
                file.set_len(upload.hashing.size())?;
                return Err(error.into());
            }
            upload.hashing.count(&chunk);
        }
        Ok(())
    }
}

impl Session {
    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used() = Instant::now();
    }

    fn idle(&self) -> std::time::Duration {
        self.used().elapsed()
    }
}

/// Stores a complete upload if it has the expected digest.
async fn complete(
    store: &Arc<Store>,
    name: &str,
    mut upload: Upload,
    digest: Digest,
) -> Result<Response, Failure> {
    let found = upload.hashing.digest();
    if found != digest {
        let message = format!("expected digest {digest}, got {found}");
        return Err(Failure::bad(Code::DigestInvalid, message));
    }
    let Some(file) = upload.file.take() else { return Err(unknown()) };
    let response = created(name, &digest);
    let (store, name) = (Arc::clone(store), name.to_owned());
    // Flushing a large file to the disk takes time.
    let stored = tokio::task::spawn_blocking(move || store.put_blob(&name, &digest, file)).await;
    stored.map_err(|_| Failure::from(std::io::Error::other("aborted")))??;
    Ok(response)
}

fn unknown() -> Failure {
    Failure::not_found(Code::BlobUploadUnknown, "unknown or expired upload")
}

fn content_length(request: &Request) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Rejects a chunk that does not begin where the upload ends, and reports where it does.
fn check_range(request: &Request, name: &str, id: &str, size: u64) -> Result<(), Failure> {
    let Some(range) = request.headers().get(CONTENT_RANGE) else { return Ok(()) };
    let bounds = range.to_str().ok().and_then(|range| {
        let (first, last) = range.trim_start_matches("bytes ").split_once('-')?;
        let last = last.split('/').next().unwrap_or(last);
        Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
    });
    let length = content_length(request);
    let matches = bounds.is_some_and(|(first, last)| {
        let expected = last.checked_sub(first).and_then(|more| more.checked_add(1));
        first == size && length.is_none_or(|length| expected == Some(length))
    });
    if matches {
        return Ok(());
    }
    let message = format!("the upload has {size} bytes, and a chunk must begin there");
    Err(Failure::new(StatusCode::RANGE_NOT_SATISFIABLE, Code::BlobUploadInvalid, message)
        .with_header(RANGE, range_of(size))
        .with_header(LOCATION, location(name, id)))
}

fn progress(status: StatusCode, name: &str, id: &str, size: u64) -> Response {
    let mut response = empty(status);
    set(&mut response, LOCATION, &location(name, id));
    set(&mut response, RANGE, &range_of(size));
    set(&mut response, HeaderName::from_static("docker-upload-uuid"), id);
    response
}

fn created(name: &str, digest: &Digest) -> Response {
    let mut response = empty(StatusCode::CREATED);
    set(&mut response, LOCATION, &format!("/v2/{name}/blobs/{digest}"));
    set(&mut response, digest_header(), digest.as_ref());
    response
}

fn location(name: &str, id: &str) -> String {
    format!("/v2/{name}/blobs/uploads/{id}")
}

/// The range of the bytes so far. The specification has no other form for none than `0-0`.
fn range_of(size: u64) -> String {
    format!("0-{}", size.saturating_sub(1))
}

/// Returns the values of the query.
pub(crate) fn query(uri: &Uri) -> HashMap<String, String> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect()
}
