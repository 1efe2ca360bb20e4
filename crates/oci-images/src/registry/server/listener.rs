//! A server: its address, its certificate and its directory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval};

use super::access::{Access, Writing};
use super::error::Error;
use super::handler::{Registry, handle};
use super::options::Options;
use super::own::OwnNames;
use super::proxy::Proxy;
use super::store::Store;
use super::uploads::Uploads;
use super::users::Users;

/// How often expired uploads are removed.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(30);

/// A registry that listens and does not serve yet.
pub struct Server {
    http: limited_http::Server,
    address: SocketAddr,
    registry: Arc<Registry>,
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
        let fail = |reason| Error::Listen { address, reason };
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
        let access = Access { own: OwnNames::new(address.ip(), hosts), writing };
        let proxy = proxy.map(Arc::new);
        let uploads = Uploads::new(limits.clone());
        let registry = Arc::new(Registry { access, users, store, uploads, proxy });
        let mut http = limited_http::Server::new(listener, limits.http);
        if let Some(tls) = tls {
            http = http.with_handshake(move |stream| tls.accept(stream));
        }
        Ok(Self { http, address, registry })
    }

    /// Returns the address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready, then finishes requests in progress for up to
    /// [`HttpLimits::shutdown_timeout`](super::HttpLimits::shutdown_timeout).
    ///
    /// Dropping the returned future stops at once.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { http, registry, .. } = self;
        let uploads = Arc::clone(&registry);
        let expiring = async {
            let mut expiry = interval(EXPIRY_INTERVAL);
            expiry.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                expiry.tick().await;
                uploads.uploads.expire();
            }
        };
        let handler = move |request| {
            let registry = Arc::clone(&registry);
            async move { handle(&registry, request).await }
        };
        tokio::select! {
            () = http.serve(handler, stop) => {}
            () = expiring => {}
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}
