//! Serves routers with limits: how many connections there are, and how long clients may take.

use axum::Router;
use limited_http::{ConnectionError, Server};
use std::error::Error as _;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

pub use axum;
pub use limited_http::Limits;

/// Returns limits for the API server, the kubelet and Prometheus.
///
/// The API server opens connections before it needs them, keeps up to 25 of them for each webhook, and closes those that are
/// idle for 90 seconds. The server waits longer, so that it never closes a connection that is about to be used. The API server
/// waits at most 30 seconds for a response.
#[must_use]
pub fn limits() -> Limits {
    let idle_timeout = Duration::from_secs(100);
    let response_timeout = Duration::from_secs(30);
    let mut limits = Limits::default();
    limits.connections = 512;
    // No other client keeps the API server or the kubelet from connecting. All API servers may have one address.
    limits.connections_per_peer = Some(256);
    limits.handshake_timeout = Duration::from_secs(10);
    limits.first_byte_timeout = idle_timeout;
    limits.idle_timeout = idle_timeout;
    limits.header_timeout = Duration::from_secs(10);
    limits.response_timeout = Some(response_timeout);
    // The time until the response includes the body.
    limits.body_timeout = response_timeout * 2;
    limits.write_timeout = Duration::from_secs(30);
    // Every request ends by the limits above; the manager waits for as long as its options say.
    limits.shutdown_timeout = response_timeout + limits.write_timeout;
    limits
}

/// Serves connections until `stop` completes, then finishes the requests in flight, for up to [`Limits::shutdown_timeout`].
///
/// Dropping the future closes all connections at once.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let server = Server::new(listener, limits).on_error(log);
    let server = match tls {
        Some(tls) => server.with_handshake(move |stream| tls.accept(stream)),
        None => server,
    };
    serve_router(server, router, stop).await;
}

async fn serve_router(server: Server, router: Router, stop: impl Future<Output = ()>) {
    let respond = move |request| {
        let response = router.clone().call(request);
        async move {
            match response.await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
    };
    server.serve(respond, stop).await;
}

fn log(error: &ConnectionError) {
    let cause = error.source().map(tracing::field::display);
    if let ConnectionError::Accept(_) = error {
        tracing::warn!(cause, "{error}");
    } else {
        // A client that breaks the protocol or its connection is no error of the server.
        tracing::debug!(cause, "{error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::{get, post};
    use std::future::pending;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::net::TcpStream;
    use tokio::sync::mpsc;
    use tokio::time::{Instant, sleep};

    const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    /// More than the buffers of a connection hold.
    const LARGE: usize = 1024 * 1024;

    fn router() -> Router {
        Router::new()
            .route("/", get(|| async { "ok" }).post(|body: String| async move { body }))
            .route("/large", post(|| async { vec![b'x'; LARGE] }))
    }

    /// Returns the client's end of a connection that is served with the limits of the manager. It is in memory, where no byte is
    /// on its way while the paused time advances; a TCP connection only begins it.
    async fn connect() -> DuplexStream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (connected, mut clients) = mpsc::unbounded_channel();
        let server = Server::new(listener, limits()).with_handshake(move |_| {
            let (client, server) = tokio::io::duplex(1024);
            connected.send(client).unwrap();
            async { Ok(server) }
        });
        tokio::spawn(serve_router(server, router(), pending()));
        let _connection = TcpStream::connect(address).await.unwrap();
        clients.recv().await.unwrap()
    }

    /// Sends one byte a second until the server closes the connection; returns what was received, and after which time.
    async fn drip(client: DuplexStream, bytes: &[u8]) -> (String, Duration) {
        let began = Instant::now();
        let (mut reader, mut writer) = tokio::io::split(client);
        let mut received = Vec::new();
        let dripping = async {
            for byte in bytes {
                if writer.write_all(&[*byte]).await.is_err() {
                    return;
                }
                sleep(Duration::from_secs(1)).await;
            }
            pending::<()>().await;
        };
        tokio::select! {
            () = dripping => {}
            _ = reader.read_to_end(&mut received) => {}
        }
        (String::from_utf8(received).unwrap(), began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connection_is_closed_before_and_after_a_request() {
        let limits = limits();
        assert_eq!(drip(connect().await, b"").await, (String::new(), limits.idle_timeout));
        let mut kept = connect().await;
        sleep(limits.idle_timeout / 2).await;
        kept.write_all(GET).await.unwrap();
        let (response, time) = drip(kept, b"").await;
        assert!(response.ends_with("ok"), "{response}");
        assert_eq!(time, limits.idle_timeout);
    }

    #[tokio::test(start_paused = true)]
    async fn request_head_has_a_limited_time_from_its_first_byte() {
        let limits = limits();
        let (_, time) = drip(connect().await, b"G").await;
        assert_eq!(time, limits.header_timeout, "one byte, and then nothing");
        let (response, time) = drip(connect().await, &[b'x'; 200]).await;
        assert!(!response.contains("200 OK") && time == limits.header_timeout, "{response} after {time:?}");
        let mut second = connect().await;
        second.write_all(GET).await.unwrap();
        let mut answer = [0; 12];
        second.read_exact(&mut answer).await.unwrap();
        sleep(Duration::from_secs(50)).await;
        let (_, time) = drip(second, b"G").await;
        assert_eq!(time, limits.header_timeout, "of a second request");
    }

    #[tokio::test(start_paused = true)]
    async fn request_body_that_is_too_slow_is_answered_with_408() {
        let mut client = connect().await;
        client.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 200\r\n\r\n").await.unwrap();
        let (response, time) = drip(client, &[b'x'; 100]).await;
        assert!(response.starts_with("HTTP/1.1 408 Request Timeout"), "{response}");
        assert_eq!(time, limits().response_timeout.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_reads_nothing_is_disconnected() {
        let mut client = connect().await;
        client.write_all(b"POST /large HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        sleep(limits().write_timeout + Duration::from_secs(1)).await;
        let mut received = Vec::new();
        let _ = client.read_to_end(&mut received).await;
        assert!(received.len() < LARGE, "the rest was not waited for");
    }

    #[tokio::test]
    async fn connection_beyond_the_number_of_its_peer_is_closed() {
        let mut limits = limits();
        assert!(limits.connections_per_peer.is_some_and(|of_peer| of_peer < limits.connections));
        limits.connections_per_peer = Some(1);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, None, router(), limits, pending()));
        let mut first = TcpStream::connect(address).await.unwrap();
        let mut answer = [0; 12];
        first.write_all(GET).await.unwrap();
        first.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        let mut second = TcpStream::connect(address).await.unwrap();
        let mut received = Vec::new();
        // The connection may be reset.
        let _ = second.read_to_end(&mut received).await;
        assert!(received.is_empty(), "{received:?}");
    }
}
