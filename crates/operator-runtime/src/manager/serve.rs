//! Serves HTTP/1.1 with limits: how many connections there are, and how long clients may take.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

/// The maximum number of header lines in a request.
const MAX_HEADERS: usize = 64;
/// The maximum size of a request's head in bytes.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The pause after the system fails to accept a connection, for example for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of connections; further clients wait in the system's backlog.
    pub connections: usize,
    /// Maximum time of a TLS handshake.
    pub handshake_timeout: Duration,
    /// Maximum time until the head of a request is complete, and thereby between two requests.
    pub header_timeout: Duration,
    /// Maximum time from the head of a request to its response; the body is read in it.
    pub request_timeout: Duration,
    /// Maximum time in which a client reads nothing of a response.
    pub write_timeout: Duration,
}

impl Default for Limits {
    /// Returns limits for the API server, the kubelet and Prometheus.
    ///
    /// The API server closes a connection that is idle for 90 seconds; the server waits longer, so that it never closes one
    /// that is about to be used. It keeps up to 25 of them for each webhook, and waits at most 30 seconds for a response.
    fn default() -> Self {
        Self {
            connections: 512,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(100),
            request_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Serves connections until `stop` completes, then finishes the requests in flight and returns.
///
/// Dropping the future closes all connections at once.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let permits = Arc::new(Semaphore::new(limits.connections));
    let (closing, _) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.join_next() => {}
            accepted = accept(&listener, &permits) => match accepted {
                Ok((stream, permit)) => {
                    let (tls, router, closing) = (tls.clone(), router.clone(), closing.subscribe());
                    connections.spawn(async move {
                        handle(stream, tls, router, limits, closing).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    // There are no receivers if there are no connections.
    closing.send_replace(true);
    while connections.join_next().await.is_some() {}
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

async fn handle(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    limits: Limits,
    closing: watch::Receiver<bool>,
) {
    // Only the time of small responses depends on it.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return handle_requests(stream, router, limits, closing).await };
    match timeout(limits.handshake_timeout, tls.accept(stream)).await {
        Ok(Ok(stream)) => handle_requests(stream, router, limits, closing).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake timed out"),
    }
}

async fn handle_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    limits: Limits,
    mut closing: watch::Receiver<bool>,
) {
    let stream = WriteTimeout { stream, timeout: limits.write_timeout, stalled: None };
    let service = service_fn(move |request: Request<Incoming>| {
        let response = router.clone().call(request.map(Body::new));
        async move {
            let response = timeout(limits.request_timeout, response).await;
            response.unwrap_or_else(|_| Ok(too_slow()))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // A client that breaks the protocol or its connection is no error of the server.
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Returns the response to a request that takes too long; the rest of its body is not waited for.
fn too_slow() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}

/// A stream on which writing fails if the peer reads nothing for too long.
struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Runs while the peer does not read.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    fn limit<T>(&mut self, result: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.timeout)));
        stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
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
        self.limit(result, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(context);
        self.limit(result, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limit(result, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::{get, post};
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::Instant;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    /// More than a socket's buffers hold.
    const LARGE: usize = 32 * 1024 * 1024;

    async fn start(limits: Limits) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/", get(|| async { "ok" }).post(|body: String| async move { body }))
            .route("/large", post(|| async { vec![b'x'; LARGE] }));
        tokio::spawn(serve(listener, None, router, limits, std::future::pending()));
        address
    }

    fn short() -> Limits {
        Limits {
            header_timeout: Duration::from_millis(300),
            request_timeout: Duration::from_millis(300),
            write_timeout: Duration::from_millis(300),
            ..Limits::default()
        }
    }

    /// Sends one byte after the other until the server closes the connection; returns what it has sent.
    async fn drip(stream: &mut TcpStream, bytes: &[u8]) -> String {
        let (mut reader, mut writer) = stream.split();
        let mut received = Vec::new();
        let dripping = async {
            for byte in bytes {
                if writer.write_all(&[*byte]).await.is_err() {
                    return;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        // A connection may be reset, because bytes that were sent late are never read.
        tokio::join!(dripping, async {
            let _ = reader.read_to_end(&mut received).await;
        });
        String::from_utf8(received).unwrap()
    }

    #[tokio::test]
    async fn clients_that_are_idle_or_too_slow_are_disconnected() {
        let address = start(short()).await;
        let began = Instant::now();

        let mut idle = TcpStream::connect(address).await.unwrap();
        assert_eq!(drip(&mut idle, b"").await, "");

        let mut kept = TcpStream::connect(address).await.unwrap();
        kept.write_all(GET).await.unwrap();
        let response = drip(&mut kept, b"").await;
        assert!(response.ends_with("ok"), "idle after a request: {response}");

        let mut head = TcpStream::connect(address).await.unwrap();
        let response = drip(&mut head, &[b'x'; 200]).await;
        assert!(!response.contains("200 OK"), "{response}");

        let mut body = TcpStream::connect(address).await.unwrap();
        body.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 200\r\n\r\n").await.unwrap();
        let response = drip(&mut body, &[b'x'; 100]).await;
        assert!(response.starts_with("HTTP/1.1 408 Request Timeout"), "{response}");

        let mut reader = TcpStream::connect(address).await.unwrap();
        reader.write_all(b"POST /large HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        sleep(Duration::from_secs(5)).await;
        let mut received = Vec::new();
        let _ = reader.read_to_end(&mut received).await;
        assert!(received.len() < LARGE, "the rest was not waited for");

        assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_connection_beyond_the_limit_is_served_once_another_one_ends() {
        let address =
            start(Limits { connections: 2, header_timeout: Duration::from_mins(1), ..short() }).await;
        let first = TcpStream::connect(address).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        second.write_all(GET).await.unwrap();
        let mut answer = [0; 12];
        second.read_exact(&mut answer).await.unwrap();

        let mut third = TcpStream::connect(address).await.unwrap();
        third.write_all(GET).await.unwrap();
        let early = timeout(Duration::from_millis(300), third.read_exact(&mut answer)).await;
        assert!(early.is_err(), "there are two connections already");
        drop(first);
        third.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
}
