//! Connections: how many there are, how long they may wait, and how they end.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, Sleep, interval, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::handler::{Registry, handle};

/// The maximum number of header lines in a request.
const MAX_HEADERS: usize = 64;

/// The maximum size of a request's head in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// How often expired uploads are removed.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(30);

/// The pause after the system fails to accept a connection, for example for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until `stop` is ready, then finishes requests in progress within the shutdown timeout.
///
/// Dropping the future closes all connections at once.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    registry: Arc<Registry>,
    stop: impl Future<Output = ()>,
) {
    let limits = registry.limits.clone();
    let permits = Arc::new(Semaphore::new(limits.connections));
    let (closing, _) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut expiry = interval(EXPIRY_INTERVAL);
    expiry.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = expiry.tick() => registry.uploads.expire(),
            Some(_) = connections.join_next() => {}
            accepted = accept(&listener, &permits) => match accepted {
                Ok((stream, permit)) => {
                    let registry = Arc::clone(&registry);
                    let closing = closing.subscribe();
                    let tls = tls.clone();
                    connections.spawn(async move {
                        // Only the time of small responses depends on it.
                        let _ = stream.set_nodelay(true);
                        match tls {
                            None => serve_connection(stream, registry, closing).await,
                            Some(tls) => {
                                let accepted = timeout(registry.limits.header_timeout, tls.accept(stream)).await;
                                // A client that does not finish the handshake is no error of the server.
                                if let Ok(Ok(stream)) = accepted {
                                    serve_connection(stream, registry, closing).await;
                                }
                            }
                        }
                        drop(permit);
                    });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    // There are no receivers if there are no connections.
    let _ = closing.send(true);
    let finished = async { while connections.join_next().await.is_some() {} };
    // Connections that are open after the timeout are closed with the set.
    let _ = timeout(limits.shutdown_timeout, finished).await;
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    registry: Arc<Registry>,
    mut closing: watch::Receiver<bool>,
) {
    let limits = &registry.limits;
    let stream = TokioIo::new(WriteTimeout::new(stream, limits.body_timeout));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let registry = Arc::clone(&registry);
        async move { Ok::<_, Infallible>(handle(&registry, request.map(Body::new)).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(stream, service);
    let mut connection = pin!(connection);
    tokio::select! {
        // A client that breaks the protocol or its connection is no error of the server.
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A stream on which writing fails if the peer reads nothing for too long.
struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Runs while the peer does not read.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    fn new(stream: S, timeout: Duration) -> Self {
        Self { stream, timeout, stalled: None }
    }

    fn watch<T>(&mut self, result: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let deadline = Instant::now() + self.timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(result, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(result, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(result, context)
    }
}
