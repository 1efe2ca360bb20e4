//! The accept loop, the limits on connections, and the shutdown.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Body;
use hyper::{Request, Response};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::body::RequestBody;
use crate::connection::{Protocol, Shared};
use crate::error::{ConnectionError, Timeout};
use crate::limits::Limits;
use crate::stream::ByteStream;

/// The pause after the system fails to accept a connection, for example for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

type Handshake =
    dyn Fn(TcpStream) -> Pin<Box<dyn Future<Output = io::Result<Box<dyn ByteStream>>> + Send>> + Send + Sync;

type ErrorObserver = dyn Fn(&ConnectionError) + Send + Sync;

/// A server of HTTP/1.1 or HTTP/2 that listens on a TCP port.
pub struct Server {
    listener: TcpListener,
    limits: Limits,
    protocol: Protocol,
    handshake: Option<Arc<Handshake>>,
    on_error: Arc<ErrorObserver>,
    open: OpenConnections,
}

impl Server {
    /// Returns a server of HTTP/1.1 without TLS.
    #[must_use]
    pub fn new(listener: TcpListener, limits: Limits) -> Self {
        Self {
            listener,
            limits,
            protocol: Protocol::Http1,
            handshake: None,
            on_error: Arc::new(|_| {}),
            open: OpenConnections::default(),
        }
    }

    /// Serves HTTP/2 only, from the first byte on, as gRPC over plain TCP requires.
    ///
    /// Requests are meant to be small: a client may send 64 KiB on a connection before a handler reads them.
    #[cfg(feature = "http2")]
    #[must_use]
    pub fn http2(mut self) -> Self {
        self.protocol = Protocol::Http2;
        self
    }

    /// Runs `handshake` on each accepted connection, for example that of TLS, within [`Limits::handshake_timeout`].
    ///
    /// With tokio-rustls: `server.with_handshake(move |stream| acceptor.accept(stream))`.
    #[must_use]
    pub fn with_handshake<F, S>(mut self, handshake: impl Fn(TcpStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        self.handshake = Some(Arc::new(move |stream| {
            let handshake = handshake(stream);
            Box::pin(async move { Ok(Box::new(handshake.await?) as Box<dyn ByteStream>) })
        }));
        self
    }

    /// Calls `observer` with what ends connections early, for example to log it. It must not block.
    #[must_use]
    pub fn on_error(mut self, observer: impl Fn(&ConnectionError) + Send + Sync + 'static) -> Self {
        self.on_error = Arc::new(observer);
        self
    }

    /// Returns the number of open connections, for metrics.
    #[must_use]
    pub fn open_connections(&self) -> OpenConnections {
        self.open.clone()
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    ///
    /// The system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves requests with `handler` until `stop` is ready, then accepts no more of them and waits for those in progress, for
    /// up to [`Limits::shutdown_timeout`].
    ///
    /// Dropping the returned future closes all connections at once.
    pub async fn serve<H, F, B>(self, handler: H, stop: impl Future<Output = ()>)
    where
        H: Fn(Request<RequestBody>) -> F + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Self { listener, limits, protocol, handshake, on_error, open } = self;
        let permits = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        let peers = Arc::new(Peers { limit: limits.connections_per_peer, open: Mutex::default() });
        let shutdown_timeout = limits.shutdown_timeout;
        let shared = Arc::new(Shared::new(handler, limits, protocol));
        let (stopping, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                (permit, accepted) = accept(&listener, &permits) => match accepted {
                    Err(error) => {
                        on_error(&ConnectionError::Accept(error));
                        sleep(ACCEPT_PAUSE).await;
                    }
                    Ok((stream, peer)) => match peers.admit(peer.ip()) {
                        Err(error) => on_error(&error),
                        Ok(peer) => {
                            let counted = (open.count(), permit, peer);
                            let (shared, stopped) = (Arc::clone(&shared), stopped.clone());
                            let (handshake, on_error) = (handshake.clone(), Arc::clone(&on_error));
                            connections.spawn(async move {
                                if let Err(error) = serve_stream(stream, handshake, shared, stopped).await {
                                    on_error(&error);
                                }
                                drop(counted);
                            });
                        }
                    },
                },
            }
        }
        drop(listener);
        stopping.send_replace(true);
        let finished = async { while connections.join_next().await.is_some() {} };
        // Connections that are open after the timeout are closed with the set.
        let _ = timeout(shutdown_timeout, finished).await;
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { listener, limits, protocol, open, .. } = self;
        formatter
            .debug_struct("Server")
            .field("listener", listener)
            .field("limits", limits)
            .field("protocol", protocol)
            .field("open", open)
            .finish_non_exhaustive()
    }
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> (Option<OwnedSemaphorePermit>, io::Result<(TcpStream, SocketAddr)>) {
    // The semaphore is never closed.
    let permit = Arc::clone(permits).acquire_owned().await.ok();
    (permit, listener.accept().await)
}

async fn serve_stream<H, F, B>(
    stream: TcpStream,
    handshake: Option<Arc<Handshake>>,
    shared: Arc<Shared<H>>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), ConnectionError>
where
    H: Fn(Request<RequestBody>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // A connection works without both: they concern its speed and its memory.
    let _ = stream.set_nodelay(true);
    if let Some(bytes) = shared.limits.send_buffer {
        let _ = SockRef::from(&stream).set_send_buffer_size(bytes);
    }
    let Some(handshake) = handshake else { return shared.serve(stream, stopped).await };
    let accepted = tokio::select! {
        accepted = timeout(shared.limits.handshake_timeout, handshake(stream)) => accepted,
        _ = stopped.wait_for(|stopped| *stopped) => return Ok(()),
    };
    match accepted {
        Ok(Ok(stream)) => shared.serve(stream, stopped).await,
        Ok(Err(error)) => Err(ConnectionError::Handshake(error)),
        Err(_) => Err(ConnectionError::Timeout(Timeout::Handshake)),
    }
}

/// The number of open connections of a server.
#[derive(Debug, Clone, Default)]
pub struct OpenConnections(Arc<AtomicUsize>);

impl OpenConnections {
    /// Returns the number.
    #[must_use]
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts a connection until the returned value is dropped.
    fn count(&self) -> CountedConnection {
        self.0.fetch_add(1, Ordering::Relaxed);
        CountedConnection(Self(Arc::clone(&self.0)))
    }
}

#[derive(Debug)]
struct CountedConnection(OpenConnections);

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The number of connections from each peer.
#[derive(Debug)]
struct Peers {
    /// The maximum number from one of them.
    limit: Option<usize>,
    open: Mutex<HashMap<IpAddr, usize>>,
}

impl Peers {
    /// Counts a connection from an address until the returned value is dropped; `None` if there is no limit.
    fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Option<Peer>, ConnectionError> {
        let Some(limit) = self.limit else { return Ok(None) };
        let address = network(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_default();
        if *count >= limit {
            return Err(ConnectionError::TooManyFromPeer(address));
        }
        *count += 1;
        Ok(Some(Peer { peers: Arc::clone(self), address }))
    }
}

/// Returns what is counted as one peer: an IPv4 address, or a /64 network, of which one client may have all addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// A connection from a peer.
#[derive(Debug)]
struct Peer {
    peers: Arc<Peers>,
    address: IpAddr,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let mut open = self.peers.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}
