//! A pull-through cache: what the store lacks is fetched from another registry, stored, and served.
//!
//! Manifests and blobs are verified against their digests before they are stored. A blob is passed on while it arrives, but
//! its last byte only after its digest is verified, so that no client ever has a wrong one that looks complete. A tag is
//! looked up at the other registry whenever it is asked for, and served from the store while that is unreachable.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use oci_spec::image::{Descriptor, Digest, MediaType};
use tempfile::TempPath;
use tokio::sync::{Semaphore, watch};

use super::manifests::Manifest;
use super::response::{Code, Failure};
use super::route::{self, Reference};
use super::store::Store;
use super::{Error, Limits};
use crate::layout;
use crate::registry::mirrors::{self, Mirrors};
use crate::registry::{self, Deadline, Options, Progress, Repository, Resolver};

/// How long a login at the other registry is used.
const SESSION_AGE: Duration = Duration::from_mins(5);
/// Maximum number of logins that are kept, one for each repository.
const MAX_SESSIONS: usize = 256;
/// Maximum number of blobs that are fetched at once.
const MAX_DOWNLOADS: usize = 32;
/// Maximum number of blobs that are fetched or wait for that.
const MAX_WAITING: usize = 1000;
/// Maximum number of referrers of one image that are fetched.
const MAX_REFERRERS: usize = 100;
/// After a failed connection, how long stored tags are served without another attempt.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(10);

/// Another registry, whose content is served and kept.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// The registry, or the registry and the first parts of its repositories: `quay.io`, `quay.io/example`.
    pub registry: String,
    /// How it is reached. The deadline's total is the maximum time for one request of a client; mirrors are not used, because this
    /// registry may be one of them.
    pub options: Options,
    /// The credentials.
    pub resolver: Resolver,
}

/// The cache of an [`Upstream`].
#[derive(Debug)]
pub(super) struct Proxy {
    upstream: Upstream,
    limits: Limits,
    sessions: Mutex<HashMap<String, (Instant, Repository)>>,
    downloads: Mutex<HashMap<Key, watch::Receiver<State>>>,
    permits: Semaphore,
    unreachable: Mutex<Option<Instant>>,
}

/// A blob in a repository.
type Key = (String, Digest);

/// How far a blob is.
#[derive(Debug, Clone, Default)]
struct State {
    /// The size and the progress, once the other registry has reported the size.
    arriving: Option<Arriving>,
    /// The end of the download: the blob is stored, or will not be.
    end: Option<Result<(), Failure>>,
}

#[derive(Debug, Clone)]
struct Arriving {
    size: u64,
    path: PathBuf,
    received: watch::Receiver<u64>,
}

/// A blob that is being fetched: its file grows until the download ends.
#[derive(Debug)]
pub(super) struct Growing {
    pub(super) size: u64,
    /// The file, until the blob is stored.
    pub(super) path: PathBuf,
    received: watch::Receiver<u64>,
    state: watch::Receiver<State>,
}

impl Growing {
    /// Waits until the file has bytes after `position`, and returns where they end. The last byte of a blob becomes available
    /// when its digest is verified.
    pub(super) async fn available(&mut self, position: u64) -> io::Result<u64> {
        loop {
            match &self.state.borrow_and_update().end {
                Some(Ok(())) => return Ok(self.size),
                Some(Err(_)) => return Err(io::Error::other("the download failed")),
                None => {}
            }
            let received = *self.received.borrow_and_update();
            let available = received.min(self.size.saturating_sub(1));
            if available > position {
                return Ok(available);
            }
            let ended = || io::Error::other("the download was aborted");
            tokio::select! {
                // The sender of the progress is dropped first; then the state says why.
                Ok(()) = self.received.changed() => {}
                changed = self.state.changed() => changed.map_err(|_| ended())?,
            }
        }
    }
}

impl Proxy {
    /// Returns the cache of `upstream` for a server that listens on `address`.
    pub(super) fn new(mut upstream: Upstream, address: SocketAddr, limits: Limits) -> Result<Self, Error> {
        let fail = |reason: String| Error::Upstream { registry: upstream.registry.clone(), reason };
        let registry = mirrors::location("registry", &upstream.registry).map_err(fail)?;
        let host = registry.split('/').next().unwrap_or_default();
        let port = host.strip_prefix("localhost:").and_then(|port| port.parse::<u16>().ok());
        let is_itself = host.parse() == Ok(address) || port == Some(address.port());
        if registry.is_empty() || is_itself {
            return Err(fail(
                if is_itself { "it is this registry itself" } else { "expected a name" }.into(),
            ));
        }
        upstream.registry = registry;
        upstream.options.mirrors = Mirrors::default();
        Ok(Self {
            upstream,
            limits,
            sessions: Mutex::default(),
            downloads: Mutex::default(),
            permits: Semaphore::new(MAX_DOWNLOADS),
            unreachable: Mutex::default(),
        })
    }

    /// Returns the name of the other registry.
    pub(super) fn registry(&self) -> &str {
        &self.upstream.registry
    }

    /// Returns the repository `name` of the other registry, logged in.
    async fn repository(&self, name: &str) -> Result<Repository, registry::Error> {
        if let Some((opened, repository)) = locked(&self.sessions).get(name)
            && opened.elapsed() < SESSION_AGE
        {
            return Ok(repository.clone());
        }
        let Upstream { registry, options, resolver } = &self.upstream;
        let reference = Repository::parse(&format!("{registry}/{name}"))?;
        let mut options = options.clone();
        // A session has one deadline, and is used for a while before the last request.
        options.deadline = Deadline::after(SESSION_AGE.saturating_add(options.deadline.total()));
        let repository = Repository::for_reading(&reference, &options, resolver).await?;
        let mut sessions = locked(&self.sessions);
        if sessions.len() >= MAX_SESSIONS {
            sessions.clear();
        }
        sessions.insert(name.to_owned(), (Instant::now(), repository.clone()));
        Ok(repository)
    }

    /// Whether the last connection failed a moment ago.
    fn is_unreachable(&self) -> bool {
        locked(&self.unreachable).is_some_and(|since| since.elapsed() < UNREACHABLE_PAUSE)
    }

    /// Whether an error may go away; if it is about the connection, that is remembered.
    fn may_recover(&self, error: &registry::Error) -> bool {
        use registry::Error;
        if matches!(error, Error::Unreachable { .. }) {
            *locked(&self.unreachable) = Some(Instant::now());
        }
        matches!(
            error,
            Error::Unreachable { .. }
                | Error::Failed { .. }
                | Error::Token { .. }
                | Error::Stalled { .. }
                | Error::Expired { .. }
        )
    }

    /// Brings a manifest into the store, unless it is there or the other registry does not have it. A tag is updated, or removed if the
    /// other registry does not have it.
    pub(super) async fn manifest(
        &self,
        store: &Store,
        name: &str,
        reference: &Reference,
    ) -> Result<(), Failure> {
        let tag = match reference {
            Reference::Digest(digest) if store.manifest_type(name, digest)?.is_some() => return Ok(()),
            Reference::Digest(digest) => {
                return match self.fetch_manifest(store, name, digest.as_ref(), None).await? {
                    Err(registry::Error::NotFound { .. }) | Ok(()) => Ok(()),
                    Err(error) => Err(self.failure(&error)),
                };
            }
            Reference::Tag(tag) => tag,
        };
        let stored = store.tagged(name, tag)?;
        if self.is_unreachable() && (stored.is_some() || is_made_of_digest(tag)) {
            return Ok(());
        }
        let found = match self.repository(name).await {
            Ok(repository) => repository.find(tag).await,
            Err(error) => Err(error),
        };
        let fetched = match found {
            Ok(Some(digest)) if stored.as_ref().is_some_and(|stored| *stored.as_ref() == digest) => Ok(()),
            Ok(Some(_)) => self.fetch_manifest(store, name, tag, Some(tag)).await?,
            Ok(None) => store.remove_tag(name, tag).map(|_| Ok(()))?,
            Err(error) => Err(error),
        };
        match fetched {
            Ok(()) => Ok(()),
            Err(registry::Error::NotFound { .. }) => store.remove_tag(name, tag).map(drop),
            // What has a tag made of a digest refers to an image, as what the referrers API lists: most images have none.
            Err(error) if self.may_recover(&error) && (stored.is_some() || is_made_of_digest(tag)) => Ok(()),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Fetches the manifest `version` and stores it, as `tag` if it has one.
    async fn fetch_manifest(
        &self,
        store: &Store,
        name: &str,
        version: &str,
        tag: Option<&str>,
    ) -> Result<Result<(), registry::Error>, Failure> {
        let fetched = async {
            let repository = self.repository(name).await?.at(version);
            let manifest = repository.manifest(repository.reference()).await?;
            let bytes = manifest.document()?;
            Ok((manifest, bytes))
        };
        let (manifest, bytes) = match fetched.await {
            Ok(fetched) => fetched,
            Err(error) => return Ok(Err(error)),
        };
        let parsed: Option<Manifest> = serde_json::from_slice(&bytes).ok();
        let subject = parsed.and_then(|manifest| manifest.subject?.digest().ok());
        let media_type = manifest.descriptor().media_type().to_string();
        store.put_manifest(name, tag, &media_type, subject.as_ref(), &bytes)?;
        Ok(Ok(()))
    }

    /// Brings the referrers of an image into the store.
    pub(super) async fn referrers(&self, store: &Store, name: &str, subject: &Digest) -> Result<(), Failure> {
        if self.is_unreachable() {
            return Ok(());
        }
        let listed = match self.repository(name).await {
            Ok(repository) => repository.referrers(subject).await,
            Err(error) => Err(error),
        };
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) if self.may_recover(&error) => return Ok(()),
            Err(error) => return Err(self.failure(&error)),
        };
        for referrer in listed.iter().take(MAX_REFERRERS) {
            // What is listed with another kind of digest cannot be stored.
            let Ok(digest) = route::digest(&referrer.digest) else { continue };
            self.manifest(store, name, &Reference::Digest(digest)).await?;
        }
        Ok(())
    }

    /// Returns the size of a blob that the store lacks.
    pub(super) async fn blob_size(&self, name: &str, digest: &Digest) -> Result<u64, Failure> {
        let repository = self.repository(name).await.map_err(|error| self.failure(&error))?;
        let what = format!("the blob {digest}");
        let size = repository.blob_size(digest).await;
        let size =
            size.map_err(|failure| self.failure(&repository.session.error(failure, "look up", &what)))?;
        let size = size.ok_or_else(|| super::blobs::unknown(digest))?;
        if size > self.limits.blob_bytes {
            let message = format!("the blob has {size} bytes; the limit is {}", self.limits.blob_bytes);
            return Err(Failure::new(StatusCode::BAD_GATEWAY, Code::SizeInvalid, message));
        }
        Ok(size)
    }

    /// Begins to fetch a blob that the store lacks, or joins a download of it. Returns when its size is known; `None` if it is in the store
    /// by then.
    pub(super) async fn blob(
        self: &Arc<Self>,
        store: &Arc<Store>,
        name: &str,
        digest: &Digest,
    ) -> Result<Option<Growing>, Failure> {
        let mut state = self.download(store, name, digest)?;
        let aborted = |_| Failure::new(StatusCode::BAD_GATEWAY, Code::Unknown, "the download was aborted");
        let current = state.wait_for(|state| state.arriving.is_some() || state.end.is_some()).await;
        let State { arriving, end } = current.map_err(aborted)?.clone();
        match (end, arriving) {
            (Some(Ok(())), _) | (None, None) => Ok(None),
            (Some(Err(failure)), _) => Err(failure),
            (None, Some(Arriving { size, path, received })) => {
                Ok(Some(Growing { size, path, received, state }))
            }
        }
    }

    /// Returns the state of the download of a blob, which is started if there is none.
    fn download(
        self: &Arc<Self>,
        store: &Arc<Store>,
        name: &str,
        digest: &Digest,
    ) -> Result<watch::Receiver<State>, Failure> {
        let key = (name.to_owned(), digest.clone());
        let mut downloads = locked(&self.downloads);
        if let Some(state) = downloads.get(&key) {
            return Ok(state.clone());
        }
        if downloads.len() >= MAX_WAITING {
            return Err(Failure::too_many("too many blobs are being fetched"));
        }
        let (sender, state) = watch::channel(State::default());
        downloads.insert(key.clone(), state.clone());
        let (proxy, store) = (Arc::clone(self), Arc::clone(store));
        // Not part of the request: what began for a client that goes away is worth keeping.
        tokio::spawn(async move {
            let registered = Registered { proxy: &proxy, key };
            let end = proxy.fetch_blob(&store, &registered.key, &sender).await;
            // Who comes after this finds the blob in the store, or tries again.
            drop(registered);
            sender.send_modify(|state| state.end = Some(end));
        });
        Ok(state)
    }

    /// Fetches a blob and stores it.
    async fn fetch_blob(
        &self,
        store: &Arc<Store>,
        (name, digest): &Key,
        state: &watch::Sender<State>,
    ) -> Result<(), Failure> {
        let _permit = self.permits.acquire().await.map_err(io::Error::other)?;
        // A download may have ended between a look into the store and one into the map.
        if store.has_blob(name, digest) {
            return Ok(());
        }
        let size = self.blob_size(name, digest).await?;
        // Another repository has it; this one may read it, as the other registry has just said.
        if store.content(digest).metadata().is_ok_and(|content| content.len() == size) {
            return store.link_blob(name, digest);
        }
        let path: TempPath = store.temporary()?;
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let progress = Progress::hidden();
        let arriving = Arriving { size, path: path.to_path_buf(), received: progress.watch() };
        state.send_modify(|state| state.arriving = Some(arriving));
        let repository = self.repository(name).await.map_err(|error| self.failure(&error))?;
        let descriptor =
            Descriptor::new(MediaType::Other("application/octet-stream".into()), size, digest.clone());
        repository.download(&descriptor, &file, &progress).await.map_err(|failure| {
            self.failure(&repository.session.error(failure, "return", &format!("the blob {digest}")))
        })?;
        let (store, name, digest) = (Arc::clone(store), name.clone(), digest.clone());
        // Flushing a large file to the disk takes time.
        let stored = tokio::task::spawn_blocking(move || store.put_blob(&name, &digest, path)).await;
        stored.map_err(io::Error::other)?
    }

    /// Returns the response for an error of the other registry: what it is about, without paths of this machine and names of its users.
    fn failure(&self, error: &registry::Error) -> Failure {
        use registry::Error;
        let registry = self.registry();
        self.may_recover(error);
        let message = match error {
            Error::Denied { .. } | Error::Login { .. } => {
                format!("{registry} denied access: log in to it where this registry runs")
            }
            Error::Layout(layout::Error::Malformed { .. }) => error.to_string(),
            Error::Auth(_) | Error::Certificates { .. } | Error::Layout(_) => {
                format!(
                    "{registry} cannot be read: see the credentials and certificates where this registry runs"
                )
            }
            error => error.to_string(),
        };
        Failure::new(StatusCode::BAD_GATEWAY, Code::Unknown, message)
    }
}

/// Removes a download from the map when it ends, however it does.
struct Registered<'a> {
    proxy: &'a Proxy,
    key: Key,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        locked(&self.proxy.downloads).remove(&self.key);
    }
}

/// Whether a tag is one of the specification's or cosign's for what refers to an image: `sha256-HEX`, `sha256-HEX.sig`.
fn is_made_of_digest(tag: &str) -> bool {
    let Some(hex) = tag.strip_prefix("sha256-").and_then(|rest| rest.get(..64)) else { return false };
    hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic can leave a value half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
