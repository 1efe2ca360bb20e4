//! A small registry that stores into a directory, for tests and trials.
//!
//! It implements the OCI distribution specification 1.1: pulls with ranges, pushes in one piece or in chunks, mounts
//! between repositories, tags in pages, referrers and deletions; over TLS and with basic authentication if asked to. Content is hashed as it arrives, and nothing appears
//! under its name before it is complete. It can be a cache of another registry. By default it listens on loopback only and accepts every client there except
//! web pages of other origins; [`Limits`] bounds what clients can occupy.

mod access;
mod blobs;
mod body;
mod connection;
mod gc;
mod limits;
mod manifests;
mod proxy;
mod response;
mod route;
mod store;
mod tls;
mod uploads;
mod users;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::RANGE;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub use gc::{Garbage, collect_garbage};
pub use limits::Limits;
pub use proxy::Upstream;
pub use tls::Certificate;

use access::{Access, Writing};
use proxy::Proxy;
use response::Failure;
use route::Route;
use store::Store;
use uploads::Uploads;
use users::Users;

/// The registry could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is reachable from other machines.
    #[error(
        "{0} is reachable from other machines, which could read, write and delete: use 127.0.0.1, or pass --listen-anywhere"
    )]
    NotLoopback(SocketAddr),
    /// Passwords would be sent unencrypted to an address that other machines reach.
    #[error("passwords would be sent to {0} unencrypted: pass a certificate with --tls-cert and --tls-key")]
    NotEncrypted(SocketAddr),
    /// A file of certificates or users cannot be used.
    #[error("failed to read {}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used, without quoting it.
        reason: String,
    },
    /// The address is not available.
    #[error("failed to listen on {address} (port 0 chooses a free port)")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The registry whose content is to be served cannot be used.
    #[error("cannot be a cache of `{registry}`: {reason}")]
    Upstream {
        /// The registry, as given.
        registry: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// The directory cannot be used.
    #[error("failed to open the registry in {}", .directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The directory has other content, which is not touched.
    #[error("{} is neither empty nor a registry: choose a new directory", .directory.display())]
    NotARegistry {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory must be a registry, and is none.
    #[error("{} does not contain a registry", .directory.display())]
    NoRegistry {
        /// The directory.
        directory: PathBuf,
    },
    /// Another server uses the directory.
    #[error("{} is in use by another server", .directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
    },
}

/// How a registry is served.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Where to listen. Port 0 chooses a free port.
    pub address: SocketAddr,
    /// Where to store. The directory is created if it does not exist; otherwise it must be empty or a registry.
    pub directory: PathBuf,
    /// Whether `address` may be reachable from other machines.
    pub listen_anywhere: bool,
    /// Names under which clients reach the registry, beside its address and `localhost`.
    pub hosts: Vec<String>,
    /// Whether to serve an existing registry without changing it. Several servers may do that at once.
    pub read_only: bool,
    /// Another registry: what the directory lacks is fetched from it, and clients may only read. Not with `read_only`.
    pub upstream: Option<Upstream>,
    /// The certificate with which TLS is served; plain HTTP without.
    pub certificate: Option<Certificate>,
    /// An htpasswd file with bcrypt hashes: every request then needs a user and a password.
    pub users: Option<PathBuf>,
    /// The limits.
    pub limits: Limits,
}

impl Options {
    /// Returns the options of a registry that is reachable from this machine only.
    pub fn new(address: SocketAddr, directory: impl Into<PathBuf>) -> Self {
        Self {
            address,
            directory: directory.into(),
            listen_anywhere: false,
            hosts: Vec::new(),
            read_only: false,
            upstream: None,
            certificate: None,
            users: None,
            limits: Limits::default(),
        }
    }
}

/// A registry that listens and does not serve yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    registry: Arc<Registry>,
}

#[derive(Debug)]
struct Registry {
    access: Access,
    users: Option<Users>,
    limits: Limits,
    store: Arc<Store>,
    uploads: Uploads,
    proxy: Option<Arc<Proxy>>,
}

impl Server {
    /// Listens, then opens the directory. Nothing in the directory is touched if the address is not available.
    ///
    /// # Errors
    ///
    /// [`Error::NotLoopback`] if the address is reachable from other machines and that is not allowed;
    /// [`Error::NotEncrypted`] if passwords would be sent to it unencrypted; [`Error::File`] if a file cannot be used;
    /// [`Error::Listen`] if it is not available; [`Error::Upstream`] if the other registry has no valid name, or is this one; [`Error::NotARegistry`], [`Error::InUse`] and [`Error::Directory`] if
    /// the directory cannot be used.
    pub async fn bind(options: Options) -> Result<Self, Error> {
        let Options {
            address,
            directory,
            listen_anywhere,
            hosts,
            read_only,
            upstream,
            certificate,
            users,
            limits,
        } = options;
        if !listen_anywhere && !address.ip().is_loopback() {
            return Err(Error::NotLoopback(address));
        }
        if users.is_some() && certificate.is_none() && !address.ip().is_loopback() {
            return Err(Error::NotEncrypted(address));
        }
        let tls = certificate.map(|certificate| certificate.acceptor()).transpose()?;
        let users = users.map(|path| Users::read(&path)).transpose()?;
        let fail = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let proxy =
            upstream.map(|upstream| Proxy::new(upstream, address, &hosts, limits.clone())).transpose()?;
        let store = Arc::new(Store::open(&directory, read_only)?);
        let writing = match &proxy {
            Some(proxy) => Writing::Elsewhere(proxy.registry().to_owned()),
            None if read_only => Writing::ReadOnly,
            None => Writing::Allowed,
        };
        let access = Access { address: address.ip(), hosts, writing };
        let proxy = proxy.map(Arc::new);
        let uploads = Uploads::new(limits.clone());
        let registry = Arc::new(Registry { access, users, limits, store, uploads, proxy });
        Ok(Self { listener, address, tls, registry })
    }

    /// Returns the address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready, then finishes requests in progress for up to [`Limits::shutdown_timeout`].
    ///
    /// Dropping the returned future stops at once.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        connection::serve(self.listener, self.tls, self.registry, stop).await;
    }
}

async fn handle(registry: &Registry, request: Request) -> Response {
    let mut response = match dispatch(registry, request).await {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    };
    let version = HeaderName::from_static("docker-distribution-api-version");
    response.headers_mut().insert(version, HeaderValue::from_static("registry/2.0"));
    response
}

async fn dispatch(registry: &Registry, request: Request) -> Result<Response, Failure> {
    let Registry { access, users, limits, store, uploads, proxy } = registry;
    access.check(request.method(), request.uri(), request.headers())?;
    if let Some(users) = users {
        users.check(request.headers()).await?;
    }
    if let Some(proxy) = proxy {
        proxy.check_loop(request.headers())?;
    }
    let route = Route::parse(request.uri().path())?;
    let method = request.method().clone();
    match (&method, route) {
        (&Method::GET | &Method::HEAD, Route::Root) => Ok(response::json(&serde_json::json!({}))),
        (&Method::GET, Route::Catalog) => manifests::catalog(store, &request),
        (&Method::GET, Route::Tags { name }) => manifests::tags(store, &name, &request),
        (&Method::GET, Route::Referrers { name, digest }) => {
            if let Some(proxy) = proxy {
                let last = uploads::query(request.uri()).remove("last");
                proxy.referrers(store, &name, &digest, last.as_deref()).await?;
            }
            manifests::referrers(store, &name, &digest, &request)
        }
        (&Method::GET | &Method::HEAD, Route::Manifest { name, reference }) => {
            if let Some(proxy) = proxy {
                proxy.manifest(store, &name, &reference).await?;
            }
            manifests::get(store, &name, &reference)
        }
        (&Method::PUT, Route::Manifest { name, reference }) => {
            manifests::put(store, limits, &name, &reference, request).await
        }
        (&Method::DELETE, Route::Manifest { name, reference }) => manifests::delete(store, &name, &reference),
        (&Method::GET | &Method::HEAD, Route::Blob { name, digest }) => {
            let head = method == Method::HEAD;
            let range = request.headers().get(RANGE).cloned();
            match proxy {
                Some(proxy) => blobs::get_through(proxy, store, &name, &digest, head, range).await,
                None => blobs::get(store, &name, &digest, head, range).await,
            }
        }
        (&Method::DELETE, Route::Blob { name, digest }) => blobs::delete(store, &name, &digest),
        (&Method::POST, Route::Uploads { name }) => uploads.start(store, &name, request).await,
        (&Method::GET, Route::Upload { name, id }) => uploads.status(&name, &id).await,
        (&Method::PATCH, Route::Upload { name, id }) => uploads.append(&name, &id, request).await,
        (&Method::PUT, Route::Upload { name, id }) => uploads.finish(store, &name, &id, request).await,
        (&Method::DELETE, Route::Upload { name, id }) => uploads.cancel(&name, &id),
        _ => Err(Failure::unsupported(&method)),
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Turns an I/O error about `directory` into an [`Error`].
fn directory_error(directory: &Path) -> impl Fn(io::Error) -> Error {
    let directory = directory.to_owned();
    move |source| Error::Directory { directory: directory.clone(), source }
}
