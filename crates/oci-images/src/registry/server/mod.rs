//! A small registry that stores into a folder, for trying things out and for tests.
//!
//! It speaks the OCI distribution specification 1.1: pulls with ranges, pushes in one piece or in chunks, mounts between
//! repositories, tags in pages, referrers, deletions. It knows no users, so it listens on this machine only unless told
//! otherwise. Content is hashed as it arrives and named by its digest; nothing appears under its name before it is
//! whole.

mod answer;
mod blobs;
mod manifests;
mod route;
mod store;
mod uploads;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::RANGE;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::Response;
use tokio::net::TcpListener;

use answer::Failure;
use route::Route;
use store::Store;
use uploads::Uploads;

/// The registry could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is reachable from other machines.
    #[error(
        "{0} can be reached from other machines, and this registry lets everybody write: use 127.0.0.1, or say --listen-anywhere"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("failed to listen on {address} (is something else there? port 0 takes a free one)")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The folder cannot be used.
    #[error("failed to store into {}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Serving ended with an error.
    #[error("the registry stopped")]
    Serve(#[source] io::Error),
}

/// A registry that listens and does not serve yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    registry: Arc<Registry>,
}

#[derive(Debug)]
struct Registry {
    store: Store,
    uploads: Uploads,
}

impl Server {
    /// Listens on `address` (port 0 takes a free one) and stores into `folder`, which is made where there is none.
    ///
    /// # Errors
    ///
    /// [`Error::NotLoopback`] where `address` is reachable from other machines and not `anywhere`; [`Error::Listen`]
    /// and [`Error::Folder`] where the system refuses.
    pub async fn bind(address: SocketAddr, folder: &Path, anywhere: bool) -> Result<Self, Error> {
        if !anywhere && !address.ip().is_loopback() {
            return Err(Error::NotLoopback(address));
        }
        let fail = |source| Error::Folder { folder: folder.to_owned(), source };
        let store = Store::open(folder).map_err(fail)?;
        let uploads = Uploads::open(folder).map_err(fail)?;
        let fail = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Self { listener, address, registry: Arc::new(Registry { store, uploads }) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is done; requests under way are finished.
    ///
    /// # Errors
    ///
    /// [`Error::Serve`] where the system takes the listener away.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
        let router = Router::new().fallback(handle).with_state(self.registry);
        axum::serve(self.listener, router).with_graceful_shutdown(stop).await.map_err(Error::Serve)
    }
}

async fn handle(State(registry): State<Arc<Registry>>, request: Request) -> Response {
    let mut response = match dispatch(&registry, request).await {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    };
    let version = HeaderName::from_static("docker-distribution-api-version");
    response.headers_mut().insert(version, HeaderValue::from_static("registry/2.0"));
    response
}

async fn dispatch(registry: &Registry, request: Request) -> Result<Response, Failure> {
    let route = Route::parse(request.uri().path())?;
    let method = request.method().clone();
    let (store, uploads) = (&registry.store, &registry.uploads);
    match (&method, route) {
        (&Method::GET | &Method::HEAD, Route::Root) => Ok(answer::json(&serde_json::json!({}))),
        (&Method::GET, Route::Catalog) => manifests::catalog(store, &request),
        (&Method::GET, Route::Tags { name }) => manifests::tags(store, &name, &request),
        (&Method::GET, Route::Referrers { name, digest }) => {
            manifests::referrers(store, &name, &digest, &request)
        }
        (&Method::GET | &Method::HEAD, Route::Manifest { name, reference }) => {
            manifests::get(store, &name, &reference)
        }
        (&Method::PUT, Route::Manifest { name, reference }) => {
            manifests::put(store, &name, &reference, request).await
        }
        (&Method::DELETE, Route::Manifest { name, reference }) => manifests::delete(store, &name, &reference),
        (&Method::GET | &Method::HEAD, Route::Blob { name, digest }) => {
            let head = method == Method::HEAD;
            blobs::get(store, &name, &digest, head, request.headers().get(RANGE).cloned()).await
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
