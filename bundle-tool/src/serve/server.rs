//! Connections: accepted, limited, served over HTTP/2 (gRPC) or HTTP/1.1 (the web) and closed.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::live::Live;
use super::{grpc, http};

/// The maximum number of connections at a time. Further ones wait in the kernel.
const MAX_CONNECTIONS: usize = 4096;

/// The maximum number of calls at a time on one connection.
const MAX_STREAMS: u32 = 100;

/// The maximum number of bytes that wait on one call for a client to read them.
const SEND_BUFFER: usize = 16 << 10;

/// How long a new connection may say nothing.
const HANDSHAKE: Duration = Duration::from_secs(20);

/// How often an idle connection is asked whether the client is still there, and how long it may take to reply.
const KEEP_ALIVE: Duration = Duration::from_mins(1);
const KEEP_ALIVE_REPLY: Duration = Duration::from_secs(20);

/// How long an HTTP/1.1 client may take to send a request's headers, also where a connection is idle.
const HEADERS: Duration = Duration::from_secs(30);

/// How long an HTTP/1.1 connection lives: a client that stops reading does not hold it forever.
const MAX_AGE: Duration = Duration::from_mins(10);

/// How long calls in progress may take to end when the server stops.
pub const GRACE: Duration = Duration::from_secs(10);

/// How long to wait where the system has no more file descriptors.
const BACK_OFF: Duration = Duration::from_millis(50);

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The registry's API over gRPC.
    Grpc,
    /// catalogd's API, pages and metrics over HTTP/1.1.
    Http,
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    live: Arc<Live>,
    protocol: Protocol,
}

impl Server {
    /// Listens on a port of an address, or of all addresses; port 0 chooses a free one.
    ///
    /// # Errors
    /// The port cannot be listened on.
    pub async fn bind(
        address: Option<IpAddr>,
        port: u16,
        live: Arc<Live>,
        protocol: Protocol,
    ) -> io::Result<Self> {
        let any = IpAddr::from(Ipv6Addr::UNSPECIFIED);
        let listener = match TcpListener::bind((address.unwrap_or(any), port)).await {
            // A machine without IPv6.
            Err(error) if address.is_none() && error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await.map_err(|_| error)?
            }
            result => result?,
        };
        Ok(Self { listener, live, protocol })
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    /// The system does not know.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` completes; calls in progress then have [`GRACE`] to end.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { listener, live, protocol } = self;
        let (stopping, stopped) = watch::channel(false);
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            let accept = async {
                // The semaphore is never closed.
                let permit = Arc::clone(&permits).acquire_owned().await.ok();
                (permit, listener.accept().await)
            };
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                (permit, accepted) = accept => match accepted {
                    Ok((stream, _)) => {
                        let (live, stopped) = (Arc::clone(&live), stopped.clone());
                        connections.spawn(async move {
                            let connection = live.metrics().connected();
                            serve_connection(stream, &live, protocol, stopped).await;
                            drop((connection, permit));
                        });
                    }
                    // Out of file descriptors, or the client has gone.
                    Err(_) => tokio::time::sleep(BACK_OFF).await,
                },
            }
        }
        drop(listener);
        // Nobody waits for it if there is no connection.
        let _ = stopping.send(true);
        let all = async { while connections.join_next().await.is_some() {} };
        // What still runs is cut off.
        let _ = tokio::time::timeout(GRACE, all).await;
    }
}

async fn serve_connection(
    stream: TcpStream,
    live: &Arc<Live>,
    protocol: Protocol,
    mut stopped: watch::Receiver<bool>,
) {
    // Without it, small answers wait for the client's acknowledgement of earlier ones.
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    let begun = tokio::select! {
        begun = tokio::time::timeout(HANDSHAKE, stream.peek(&mut first)) => begun,
        _ = stopped.changed() => return,
    };
    if !matches!(begun, Ok(Ok(1..))) {
        return;
    }
    match protocol {
        Protocol::Grpc => serve_grpc(stream, live, stopped).await,
        Protocol::Http => serve_http(stream, live, stopped).await,
    }
}

async fn serve_grpc(stream: TcpStream, live: &Arc<Live>, mut stopped: watch::Receiver<bool>) {
    let service = service_fn(|request| {
        let live = Arc::clone(live);
        async move { Ok::<_, std::convert::Infallible>(grpc::answer(&live, request).await) }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(grpc::MAX_HEADERS)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_REPLY)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // A connection that ends with an error concerns its client only.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn serve_http(stream: TcpStream, live: &Arc<Live>, mut stopped: watch::Receiver<bool>) {
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        let request = request.map(drop);
        async move { Ok::<_, std::convert::Infallible>(http::answer(live, &request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(SEND_BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.changed() => {}
        () = tokio::time::sleep(MAX_AGE) => {}
    }
    connection.as_mut().graceful_shutdown();
    // What still runs is cut off.
    let _ = tokio::time::timeout(GRACE, connection).await;
}
