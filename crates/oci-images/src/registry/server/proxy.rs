//! A pull-through cache: what the store lacks is fetched from another registry, stored, and served.
//!
//! Manifests and blobs are verified against their digests before they are stored. A blob is passed on while it arrives, but
//! its last byte only after its digest is verified, so that no client ever has a wrong one that looks complete. A tag is
//! looked up at the other registry whenever it is asked for, and served from the store while that is unreachable.

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::header::VIA;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode};
use oci_spec::image::{Descriptor, Digest, MediaType};
use tempfile::TempPath;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout_at;

use super::error::Error;
use super::limits::Limits;
use super::manifests::{self, Manifest, Stored};
use super::own::OwnNames;
use super::response::{Code, Failure};
use super::route::{self, Reference};
use super::store::Store;
use crate::blocking::blocking;
use crate::layout;
use crate::registry::auth::Resolver;
use crate::registry::client::Repository;
use crate::registry::deadline::{Deadline, Timeout};
use crate::registry::error::Error as RegistryError;
use crate::registry::mirrors::{self, Mirrors};
use crate::registry::options::Options;
use crate::registry::progress::{Done, Progress};
use crate::registry::session::Session;
use crate::secrets::Address;

/// How long a login at the other registry is used.
const SESSION_AGE: Duration = Duration::from_mins(5);
/// Maximum number of logins that are kept, one for each repository.
const MAX_SESSIONS: usize = 256;
/// Maximum number of blobs that are fetched at once.
const MAX_DOWNLOADS: usize = 32;
/// Maximum number of blobs that are fetched or wait for that.
const MAX_WAITING: usize = 1000;
/// After a failed connection, how long stored tags are served without another attempt.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(10);

/// Another registry, whose content is served and kept.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// The registry, or the registry and the first parts of its repositories: `quay.io`, `quay.io/example`.
    pub registry: String,
    /// How it is reached. The timeout is the maximum time for fetching what one request of a client needs; mirrors are not
    /// used, because this registry may be one of them.
    pub options: Options,
    /// The credentials.
    pub resolver: Resolver,
}

/// The cache of an [`Upstream`].
#[derive(Debug)]
pub(crate) struct Proxy {
    upstream: Upstream,
    limits: Limits,
    sessions: Mutex<HashMap<String, (Instant, Repository)>>,
    downloads: Mutex<HashMap<Key, watch::Receiver<State>>>,
    permits: Semaphore,
    unreachable: Mutex<Option<Instant>>,
    /// What this cache is called in the header `Via` of its requests: a request with it came back.
    pseudonym: String,
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
    received: watch::Receiver<Done>,
}

/// A blob that is being fetched: its file grows until the download ends.
#[derive(Debug)]
pub(crate) struct Growing {
    pub(crate) size: u64,
    /// The file, until the blob is stored.
    path: PathBuf,
    received: watch::Receiver<Done>,
    state: watch::Receiver<State>,
    /// The number of restarts of the download before the bytes that are being read.
    restarts: u64,
    /// Whether some of these bytes were delivered.
    delivered: bool,
}

impl Growing {
    /// Opens the file; `None` if the blob is stored by now.
    pub(crate) async fn open(&mut self) -> Result<Option<tokio::fs::File>, Failure> {
        match tokio::fs::File::open(&self.path).await {
            // The file is moved or removed before the end of the download is known.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.finished().await.map(|()| None),
            opened => Ok(Some(opened?)),
        }
    }

    /// Waits until the blob is verified and stored.
    pub(crate) async fn finished(&mut self) -> Result<(), Failure> {
        let state = self.state.wait_for(|state| state.end.is_some()).await;
        let end = state.map_err(|_| aborted())?.end.clone();
        end.unwrap_or_else(|| Err(aborted()))
    }

    /// Waits until the file has bytes after `position`, and returns where they end. The last byte of a blob becomes available
    /// when its digest is verified.
    ///
    /// # Errors
    ///
    /// The download failed; or it began again with what may be other bytes, after some were delivered.
    pub(crate) async fn available(&mut self, position: u64) -> io::Result<u64> {
        loop {
            let end = self.state.borrow_and_update().end.clone();
            let Done { bytes, restarts, .. } = *self.received.borrow_and_update();
            if restarts != self.restarts {
                if self.delivered {
                    return Err(io::Error::other("the download began again"));
                }
                self.restarts = restarts;
            }
            match end {
                Some(Ok(())) => return Ok(self.size),
                Some(Err(_)) => return Err(io::Error::other("the download failed")),
                None => {}
            }
            let available = bytes.min(self.size.saturating_sub(1));
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

    /// Whether what was read since [`available`](Self::available) can be delivered: the download did not begin again meanwhile.
    pub(crate) fn deliver(&mut self) -> bool {
        let is_same = self.received.borrow().restarts == self.restarts;
        self.delivered |= is_same;
        is_same
    }
}

fn aborted() -> Failure {
    Failure::new(StatusCode::BAD_GATEWAY, Code::Unknown, "the download was aborted")
}

impl Proxy {
    /// Returns the cache of `upstream` for a server that listens on `address` and is also called `hosts`.
    pub(crate) fn new(
        mut upstream: Upstream,
        address: SocketAddr,
        hosts: &[String],
        limits: Limits,
    ) -> Result<Self, Error> {
        let shown = Address::new(upstream.registry.as_str()).to_string();
        let fail = |reason: String| Error::Upstream { registry: shown.clone(), reason };
        let registry = mirrors::location("registry", &upstream.registry).map_err(fail)?;
        if registry.is_empty() {
            return Err(fail("expected a name".into()));
        }
        let usable = Repository::parse(&format!("{registry}/x"))
            .and_then(|reference| Session::check(&reference, &upstream.options));
        usable.map_err(|error| fail(error.to_string()))?;
        if is_itself(registry.split('/').next().unwrap_or_default(), address, hosts) {
            return Err(fail("it is this registry itself".into()));
        }
        // Unlike any other: keys of hashes are random.
        let pseudonym = format!("oci-images-{:016x}", RandomState::new().hash_one(address));
        upstream.options.via = HeaderValue::from_str(&format!("1.1 {pseudonym}")).ok();
        upstream.registry = registry;
        upstream.options.mirrors = Mirrors::default();
        Ok(Self {
            upstream,
            limits,
            sessions: Mutex::default(),
            downloads: Mutex::default(),
            permits: Semaphore::new(MAX_DOWNLOADS),
            unreachable: Mutex::default(),
            pseudonym,
        })
    }

    /// Returns the name of the other registry.
    pub(crate) fn registry(&self) -> &str {
        &self.upstream.registry
    }

    /// Rejects a request that this cache sent, maybe by way of others: it would be sent again for ever.
    pub(crate) fn check_loop(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let mut values = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
        if !values.any(|value| value.contains(&self.pseudonym)) {
            return Ok(());
        }
        let message = format!("{} is this registry itself: it cannot be a cache of it", self.registry());
        Err(Failure::new(StatusCode::LOOP_DETECTED, Code::Unsupported, message))
    }

    /// Returns when the work for a request that begins now must have ended.
    fn deadline(&self) -> Deadline {
        self.upstream.options.timeout.restart()
    }

    /// Returns the repository `name` of the other registry, logged in.
    async fn repository(&self, name: &str) -> Result<Repository, RegistryError> {
        if let Some((opened, repository)) = locked(&self.sessions).get(name)
            && opened.elapsed() < SESSION_AGE
        {
            return Ok(repository.clone());
        }
        let Upstream { registry, options, resolver } = &self.upstream;
        let reference = Repository::parse(&format!("{registry}/{name}"))?;
        let mut options = options.clone();
        // A session is used for a while before its last request.
        options.timeout = Timeout::After(SESSION_AGE.saturating_add(options.timeout.total()));
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
    fn may_recover(&self, error: &RegistryError) -> bool {
        use crate::registry::error::Error;
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
    pub(crate) async fn manifest(
        &self,
        store: &Arc<Store>,
        name: &str,
        reference: &Reference,
    ) -> Result<(), Failure> {
        let deadline = self.deadline();
        let tag = match reference {
            Reference::Digest(digest) if store.manifest_type(name, digest)?.is_some() => return Ok(()),
            Reference::Digest(digest) => {
                return match self.fetch_manifest(store, name, digest.as_ref(), None, deadline).await? {
                    Err(RegistryError::NotFound { .. }) | Ok(()) => Ok(()),
                    Err(error) => Err(self.failure(&error)),
                };
            }
            Reference::Tag(tag) => tag,
        };
        let stored = store.tagged(name, tag)?;
        if self.is_unreachable() && (stored.is_some() || is_made_of_digest(tag)) {
            return Ok(());
        }
        let what = format!("lookup of {tag} in {}/{name}", self.registry());
        let found = within(deadline, &what, async { self.repository(name).await?.find(tag).await }).await;
        let fetched = match found {
            Ok(Some(digest)) if stored.as_ref().is_some_and(|stored| *stored.as_ref() == digest) => Ok(()),
            Ok(Some(_)) => self.fetch_manifest(store, name, tag, Some(tag), deadline).await?,
            Ok(None) => store.remove_tag(name, tag).map(|_| Ok(()))?,
            Err(error) => Err(error),
        };
        match fetched {
            Ok(()) => Ok(()),
            Err(RegistryError::NotFound { .. }) => Ok(store.remove_tag(name, tag).map(drop)?),
            // What has a tag made of a digest refers to an image, as what the referrers API lists: most images have none.
            Err(error) if self.may_recover(&error) && (stored.is_some() || is_made_of_digest(tag)) => Ok(()),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Fetches the manifest `version` and stores it, as `tag` if it has one.
    async fn fetch_manifest(
        &self,
        store: &Arc<Store>,
        name: &str,
        version: &str,
        tag: Option<&str>,
        deadline: Deadline,
    ) -> Result<Result<(), RegistryError>, Failure> {
        let what = format!("download of {version} in {}/{name}", self.registry());
        let fetched = within(deadline, &what, async {
            let repository = self.repository(name).await?.at(version);
            let manifest = repository.manifest(repository.reference()).await?;
            let bytes = manifest.document()?;
            Ok((manifest, bytes))
        });
        let (manifest, bytes) = match fetched.await {
            Ok(fetched) => fetched,
            Err(error) => return Ok(Err(error)),
        };
        let parsed: Option<Manifest> = serde_json::from_slice(&bytes).ok();
        let subject = parsed.and_then(|manifest| manifest.subject?.digest().ok());
        let media_type = manifest.descriptor().media_type().to_string();
        let (name, tag) = (name.to_owned(), tag.map(str::to_owned));
        Stored { name, tag, media_type, subject, bytes }.write(store).await?;
        Ok(Ok(()))
    }

    /// Brings the referrers of an image into the store: those of the page after `last`, and one more, so that the store knows whether
    /// there is another page. One that cannot be fetched is skipped.
    pub(crate) async fn referrers(
        &self,
        store: &Arc<Store>,
        name: &str,
        subject: &Digest,
        last: Option<&str>,
    ) -> Result<(), Failure> {
        if self.is_unreachable() {
            return Ok(());
        }
        let deadline = self.deadline();
        let what = format!("list of the referrers of {subject} in {}/{name}", self.registry());
        let listed = within(deadline, &what, async { self.repository(name).await?.referrers(subject).await });
        let listed = match listed.await {
            Ok(listed) => listed,
            Err(error) if self.may_recover(&error) => return Ok(()),
            Err(error) => return Err(self.failure(&error)),
        };
        // What is listed with another kind of digest cannot be stored.
        let digests = listed.iter().filter_map(|referrer| route::digest(&referrer.digest).ok());
        let page: BTreeMap<String, Digest> = digests
            .map(|digest| (digest.to_string(), digest))
            .filter(|(text, _)| last.is_none_or(|last| text.as_str() > last))
            .collect();
        let mut found = 0;
        for (text, digest) in &page {
            if store.manifest_type(name, digest)?.is_none()
                && let Err(error) = self.fetch_manifest(store, name, text, None, deadline).await?
            {
                if deadline.left().is_zero() {
                    return Err(self.failure(&error));
                }
                self.may_recover(&error);
                if self.is_unreachable() {
                    break;
                }
                continue;
            }
            found += 1;
            if found > manifests::MAX_REFERRERS {
                break;
            }
        }
        Ok(())
    }

    /// Returns the size of a blob that the store lacks.
    pub(crate) async fn blob_size(&self, name: &str, digest: &Digest) -> Result<u64, Failure> {
        let what = format!("lookup of {digest} in {}/{name}", self.registry());
        let size = within(self.deadline(), &what, async {
            let repository = self.repository(name).await?;
            let size = repository.blob_size(digest).await;
            size.map_err(|failure| {
                repository.session.error(failure, "look up", &format!("the blob {digest}"))
            })
        });
        let size = size.await.map_err(|error| self.failure(&error))?;
        let size = size.ok_or_else(|| Failure::unknown_blob(digest))?;
        if size > self.limits.blob_bytes {
            let message = format!("the blob has {size} bytes; the limit is {}", self.limits.blob_bytes);
            return Err(Failure::new(StatusCode::BAD_GATEWAY, Code::SizeInvalid, message));
        }
        Ok(size)
    }

    /// Begins to fetch a blob that the store lacks, or joins a download of it. Returns when its size is known; `None` if it is in the store
    /// by then.
    pub(crate) async fn blob(
        self: &Arc<Self>,
        store: &Arc<Store>,
        name: &str,
        digest: &Digest,
    ) -> Result<Option<Growing>, Failure> {
        let mut state = self.download(store, name, digest)?;
        let current = state.wait_for(|state| state.arriving.is_some() || state.end.is_some()).await;
        let State { arriving, end } = current.map_err(|_| aborted())?.clone();
        match (end, arriving) {
            (Some(Ok(())), _) | (None, None) => Ok(None),
            (Some(Err(failure)), _) => Err(failure),
            (None, Some(Arriving { size, path, received })) => {
                Ok(Some(Growing { size, path, received, state, restarts: 0, delivered: false }))
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
            let (name, digest) = &registered.key;
            let what = format!("download of {digest} in {}/{name}", proxy.registry());
            let fetching = Box::pin(async { Ok(proxy.fetch_blob(&store, &registered.key, &sender).await) });
            let end = within(proxy.deadline(), &what, fetching).await;
            let end = end.unwrap_or_else(|error| Err(proxy.failure(&error)));
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
            return Ok(store.link_blob(name, digest)?);
        }
        let path: TempPath = store.temporary()?;
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let directory = path.parent().map(Path::to_owned).unwrap_or_default();
        let progress = Progress::hidden();
        let arriving = Arriving { size, path: path.to_path_buf(), received: progress.watch() };
        state.send_modify(|state| state.arriving = Some(arriving));
        let repository = self.repository(name).await.map_err(|error| self.failure(&error))?;
        let descriptor =
            Descriptor::new(MediaType::Other("application/octet-stream".into()), size, digest.clone());
        repository.download(&descriptor, &file, &directory, &progress).await.map_err(|failure| {
            self.failure(&repository.session.error(failure, "return", &format!("the blob {digest}")))
        })?;
        let (store, name, digest) = (Arc::clone(store), name.clone(), digest.clone());
        // Flushing a large file to the disk takes time.
        Ok(blocking(move || store.put_blob(&name, &digest, path)).await?)
    }

    /// Returns the response for an error of the other registry: what it is about, without paths of this machine and names of its users.
    fn failure(&self, error: &RegistryError) -> Failure {
        use crate::registry::error::Error;
        let registry = self.registry();
        self.may_recover(error);
        let message = match error {
            Error::Denied { .. } | Error::Login { .. } => {
                format!("{registry} denied access: log in to it on the machine that runs this registry")
            }
            Error::Layout(layout::Error::Malformed { .. }) => error.to_string(),
            Error::Auth(_) | Error::Certificates { .. } | Error::Layout(_) => {
                format!(
                    "{registry} cannot be read: check the credentials and certificates on the machine that runs this registry"
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

/// Whether `authority` leads to the server that listens on `address` and is also called `hosts`. An address of this machine may be
/// missed; then the header `Via` tells.
fn is_itself(authority: &str, address: SocketAddr, hosts: &[String]) -> bool {
    let Ok(authority) = Authority::from_str(authority) else { return false };
    // Without a port, the registry is reached over HTTPS or HTTP.
    let same_port =
        authority.port_u16().map_or(matches!(address.port(), 443 | 80), |port| port == address.port());
    same_port && OwnNames::new(address.ip(), hosts.to_vec()).lead_here(authority.host())
}

/// Ends work for a request of a client at its deadline. `what` is what the error names.
async fn within<T>(
    deadline: Deadline,
    what: &str,
    work: impl Future<Output = Result<T, RegistryError>>,
) -> Result<T, RegistryError> {
    let ended = timeout_at(deadline.at().into(), work).await;
    ended.unwrap_or_else(|_| Err(RegistryError::Expired { request: what.to_owned(), deadline }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_recognizes_itself() {
        let hosts = ["registry.example.com".to_owned()];
        for (address, itself, others) in [
            (
                "127.0.0.1:5000",
                &["127.0.0.1:5000", "localhost:5000", "0.0.0.0:5000", "registry.example.com:5000"][..],
                &["127.0.0.1:5001", "127.0.0.2:5000", "localhost", "10.0.0.1:5000", "quay.io"][..],
            ),
            (
                "0.0.0.0:5000",
                &[
                    "127.0.0.1:5000",
                    "127.0.0.2:5000",
                    "localhost:5000",
                    "[::1]:5000",
                    "Registry.Example.com:5000",
                ],
                &["10.0.0.1:5000", "127.0.0.1:5001", "registry.example.com", "other.example.com:5000"],
            ),
            ("[::]:5000", &["[::1]:5000", "127.0.0.1:5000", "[::ffff:127.0.0.1]:5000"], &["[::1]:5001"]),
            ("[::1]:5000", &["[::1]:5000", "localhost:5000"], &["127.0.0.1:5000", "[::2]:5000"]),
            (
                "10.0.0.1:443",
                &["10.0.0.1", "10.0.0.1:443", "registry.example.com"],
                &["localhost", "10.0.0.2"],
            ),
        ] {
            let found = |authority: &str| is_itself(authority, address.parse().unwrap(), &hosts);
            for authority in itself {
                assert!(found(authority), "{address} is {authority}");
            }
            for authority in others {
                assert!(!found(authority), "{address} is not {authority}");
            }
        }
    }

    fn growing(path: PathBuf) -> (Growing, watch::Sender<Done>, watch::Sender<State>) {
        let (done, received) = watch::channel(Done::default());
        let (sender, state) = watch::channel(State::default());
        (Growing { size: 10, path, received, state, restarts: 0, delivered: false }, done, sender)
    }

    #[tokio::test]
    async fn bytes_of_two_attempts_are_never_mixed() {
        let (mut growing, done, state) = growing(PathBuf::new());
        done.send_replace(Done { bytes: 5, restarts: 0, ..Done::default() });
        assert_eq!(growing.available(0).await.unwrap(), 5);
        done.send_replace(Done { bytes: 0, restarts: 1, ..Done::default() });
        assert!(!growing.deliver(), "what was read may be of the second attempt");
        done.send_replace(Done { bytes: 7, restarts: 1, ..Done::default() });
        assert_eq!(growing.available(0).await.unwrap(), 7);
        assert!(growing.deliver());
        done.send_replace(Done { bytes: 10, restarts: 2, ..Done::default() });
        state.send_replace(State { arriving: None, end: Some(Ok(())) });
        assert!(growing.available(7).await.is_err(), "7 bytes are of another attempt");
    }

    #[tokio::test]
    async fn missing_file_is_reported_as_failed_download() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone");
        let (mut stored, _done, state) = growing(path.clone());
        let stored = tokio::spawn(async move { stored.open().await.map(|file| file.is_none()) });
        state.send_replace(State { arriving: None, end: Some(Ok(())) });
        assert!(stored.await.unwrap().unwrap());
        let (mut failed, _done, state) = growing(path.clone());
        let failure = Failure::new(StatusCode::BAD_GATEWAY, Code::Unknown, "the connection broke");
        state.send_replace(State { arriving: None, end: Some(Err(failure)) });
        let failure = format!("{:?}", failed.open().await.unwrap_err());
        assert!(failure.contains("the connection broke"), "{failure}");
        // Another error is not the end of the download.
        std::fs::write(&path, "").unwrap();
        let (mut other, _done, _state) = growing(path.join("below"));
        assert!(other.open().await.is_err());
    }
}
