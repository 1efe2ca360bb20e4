//! Blobs on their way in: in one piece, in chunks, or mounted from another repository.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::{Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, LOCATION, RANGE};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use futures::StreamExt;
use oci_spec::image::Digest;
use tempfile::NamedTempFile;

use super::answer::{Code, Failure, digest_header, empty, set};
use super::route;
use super::store::Store;
use crate::layout::Hashing;

/// Uploads that were begun and are neither finished nor given up. They do not outlive the process.
#[derive(Debug)]
pub(super) struct Uploads {
    folder: PathBuf,
    sessions: Mutex<HashMap<String, Session>>,
}

#[derive(Debug, Clone)]
struct Session {
    repository: String,
    file: Arc<tokio::sync::Mutex<Hashing<NamedTempFile>>>,
}

impl Uploads {
    /// Makes the folder for uploads, and clears away those of an earlier process.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let folder = folder.join("uploads");
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(&folder)?,
        }
        Ok(Self { folder, sessions: Mutex::default() })
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        // Whoever panicked while holding it cannot have left it half changed.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, name: &str, id: &str) -> Result<Session, Failure> {
        let found = self.sessions().get(id).filter(|session| session.repository == name).cloned();
        found.ok_or_else(|| Failure::not_found(Code::BlobUploadUnknown, "there is no such upload"))
    }

    /// `POST …/blobs/uploads/`: begins an upload, takes a whole blob (`?digest=`) or mounts one (`?mount=&from=`).
    pub(super) async fn start(
        &self,
        store: &Store,
        name: &str,
        request: Request,
    ) -> Result<Response, Failure> {
        if let (Some(mount), Some(from)) = (query(request.uri(), "mount"), query(request.uri(), "from")) {
            let digest = route::digest(&mount)?;
            if store.has_blob(&route::repository(&from)?, &digest) {
                store.link_blob(name, &digest)?;
                return Ok(created(name, &digest));
            }
        }
        let mut file =
            Hashing::new(tempfile::Builder::new().prefix("").rand_bytes(24).tempfile_in(&self.folder)?);
        if let Some(digest) = query(request.uri(), "digest") {
            let digest = route::digest(&digest)?;
            receive(&mut file, request.into_body()).await?;
            return keep(store, name, file, &digest);
        }
        let id: String =
            file.get_ref().path().file_name().map(|id| id.to_string_lossy().into_owned()).unwrap_or_default();
        let session = Session { repository: name.to_owned(), file: Arc::new(tokio::sync::Mutex::new(file)) };
        self.sessions().insert(id.clone(), session);
        Ok(progress(StatusCode::ACCEPTED, name, &id, 0))
    }

    /// `GET`: how far an upload is.
    pub(super) async fn status(&self, name: &str, id: &str) -> Result<Response, Failure> {
        let size = self.session(name, id)?.file.lock().await.size();
        Ok(progress(StatusCode::NO_CONTENT, name, id, size))
    }

    /// `PATCH`: the next chunk.
    pub(super) async fn append(&self, name: &str, id: &str, request: Request) -> Result<Response, Failure> {
        let session = self.session(name, id)?;
        let mut file = session.file.lock().await;
        check_range(&request, name, id, file.size())?;
        self.receive_or_drop(id, &mut file, request.into_body()).await?;
        Ok(progress(StatusCode::ACCEPTED, name, id, file.size()))
    }

    /// `PUT`: the last chunk, if any, and the digest of the whole.
    pub(super) async fn finish(
        &self,
        store: &Store,
        name: &str,
        id: &str,
        request: Request,
    ) -> Result<Response, Failure> {
        let digest = query(request.uri(), "digest")
            .ok_or_else(|| Failure::bad(Code::DigestInvalid, "an upload ends with ?digest="))?;
        let digest = route::digest(&digest)?;
        let session = self.session(name, id)?;
        {
            let mut file = session.file.lock().await;
            check_range(&request, name, id, file.size())?;
            self.receive_or_drop(id, &mut file, request.into_body()).await?;
        }
        self.sessions().remove(id);
        let file = Arc::try_unwrap(session.file).map_err(|_| {
            Failure::new(StatusCode::CONFLICT, Code::BlobUploadInvalid, "the upload is still in use")
        })?;
        keep(store, name, file.into_inner(), &digest)
    }

    /// `DELETE`: gives an upload up.
    pub(super) fn cancel(&self, name: &str, id: &str) -> Result<Response, Failure> {
        self.session(name, id)?;
        self.sessions().remove(id);
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// What arrived in part cannot be taken back from the running digest, so the upload has to begin anew.
    async fn receive_or_drop(
        &self,
        id: &str,
        file: &mut Hashing<NamedTempFile>,
        body: Body,
    ) -> Result<(), Failure> {
        let received = receive(file, body).await;
        if received.is_err() {
            self.sessions().remove(id);
        }
        received
    }
}

async fn receive(file: &mut Hashing<NamedTempFile>, body: Body) -> Result<(), Failure> {
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Failure::bad(Code::BlobUploadInvalid, "the upload broke off"))?;
        file.write_all(&chunk)?;
    }
    Ok(())
}

/// Gives an upload its name, where it is what it should be.
fn keep(
    store: &Store,
    name: &str,
    file: Hashing<NamedTempFile>,
    digest: &Digest,
) -> Result<Response, Failure> {
    let (found, _, file) = file.finish();
    if &found != digest {
        let message = format!("the bytes have the digest {found}");
        return Err(Failure::bad(Code::DigestInvalid, message));
    }
    file.as_file().sync_all()?;
    file.persist(store.content(digest)).map_err(|error| error.error)?;
    store.link_blob(name, digest)?;
    Ok(created(name, digest))
}

/// Chunks come in order: the one that begins elsewhere is refused, and told where to begin.
fn check_range(request: &Request, name: &str, id: &str, size: u64) -> Result<(), Failure> {
    let Some(range) = request.headers().get(CONTENT_RANGE) else { return Ok(()) };
    let bounds = range.to_str().ok().and_then(|range| {
        let (first, last) = range.trim_start_matches("bytes ").split_once('-')?;
        let last = last.split('/').next().unwrap_or(last);
        Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
    });
    let length =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let fits = bounds.is_some_and(|(first, last)| {
        first == size
            && length.is_none_or(|length| last.checked_sub(first).is_some_and(|more| more + 1 == length))
    });
    if fits {
        return Ok(());
    }
    let message = format!("the upload has {size} bytes");
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

/// The specification has no way to say 'nothing yet' but `0-0`.
fn range_of(size: u64) -> String {
    format!("0-{}", size.saturating_sub(1))
}

/// A value of the query.
pub(super) fn query(uri: &Uri, key: &str) -> Option<String> {
    let Query(mut values) = Query::<HashMap<String, String>>::try_from_uri(uri).ok()?;
    values.remove(key)
}
