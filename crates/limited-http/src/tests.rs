//! Connections in memory, with paused time: each limit closes a connection exactly when it is exceeded.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Channel, Full};
use hyper::{Request, Response, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::connection::{Protocol, Shared};
use crate::{ConnectionError, Limits, RequestBody, RequestBodyError, Timeout};

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/// The size of a large response.
const LARGE: usize = 1 << 20;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Limits that are all different.
fn limits() -> Limits {
    Limits {
        first_byte_timeout: seconds(15),
        header_timeout: seconds(10),
        idle_timeout: seconds(100),
        body_timeout: seconds(30),
        write_timeout: seconds(60),
        shutdown_timeout: seconds(5),
        ..Limits::default()
    }
}

type Body = BoxBody<Bytes, Infallible>;

fn full(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).boxed()
}

/// The handler of these tests. A path says what it does; otherwise it returns the length of the request's body.
async fn handle(request: Request<RequestBody>) -> Response<Body> {
    match request.uri().path() {
        "/large" => Response::new(full(vec![b'x'; LARGE])),
        "/slow" => {
            sleep(seconds(1000)).await;
            Response::new(full("slow"))
        }
        "/events" => {
            let (mut sender, body) = Channel::new(1);
            tokio::spawn(async move {
                for event in ["one", "two"] {
                    sleep(seconds(1000)).await;
                    let _ = sender.send_data(Bytes::from(event)).await;
                }
            });
            Response::new(body.boxed())
        }
        _ => match request.into_body().collect().await {
            Ok(body) => Response::new(full(body.to_bytes().len().to_string())),
            Err(error) => {
                let mut response = Response::new(full(error.to_string()));
                *response.status_mut() = match error {
                    RequestBodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
                    RequestBodyError::Incomplete(_) => StatusCode::BAD_REQUEST,
                };
                response
            }
        },
    }
}

/// A connection in memory.
struct Connection {
    client: DuplexStream,
    stop: watch::Sender<bool>,
    /// How it ended, and after how much time.
    end: JoinHandle<(Result<(), ConnectionError>, Duration)>,
}

fn connect(protocol: Protocol, limits: Limits) -> Connection {
    // Less than a response, more than a head.
    let (client, server) = duplex(4096);
    let (stop, stopped) = watch::channel(false);
    let started = Instant::now();
    let shared = Arc::new(Shared::new(handle, limits, protocol));
    let end = tokio::spawn(async move {
        let result = shared.serve(server, stopped).await;
        (result, started.elapsed())
    });
    Connection { client, stop, end }
}

/// Asserts that a connection ends by a limit after a number of seconds.
async fn assert_timeout(
    end: JoinHandle<(Result<(), ConnectionError>, Duration)>,
    limit: Timeout,
    after: u64,
) {
    let (result, elapsed) = end.await.unwrap();
    assert!(matches!(result, Err(ConnectionError::Timeout(timeout)) if timeout == limit), "{result:?}");
    // Timers count milliseconds.
    assert_eq!(elapsed.as_secs(), after, "{elapsed:?}");
}

/// Sends one byte a second until the connection is closed.
async fn drip(client: &mut (impl tokio::io::AsyncWrite + Unpin), bytes: &[u8]) {
    for byte in bytes {
        if client.write_all(&[*byte]).await.is_err() {
            return;
        }
        sleep(seconds(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn silent_connection_ends_after_first_byte_timeout() {
    let Connection { client: _client, stop: _stop, end } = connect(Protocol::Http1, limits());
    assert_timeout(end, Timeout::Idle, 15).await;
}

#[tokio::test(start_paused = true)]
async fn first_head_has_header_timeout_from_its_first_byte() {
    let Connection { mut client, stop: _stop, end } = connect(Protocol::Http1, limits());
    sleep(seconds(12)).await;
    client.write_all(b"G").await.unwrap();
    assert_timeout(end, Timeout::Header, 22).await;
}

#[tokio::test(start_paused = true)]
async fn dripping_head_ends_after_header_timeout() {
    let Connection { mut client, stop: _stop, end } = connect(Protocol::Http1, limits());
    drip(&mut client, &[b'x'; 1000]).await;
    assert_timeout(end, Timeout::Header, 10).await;
}

#[tokio::test(start_paused = true)]
async fn second_head_has_header_timeout_from_its_first_byte() {
    let Connection { mut client, stop: _stop, end } = connect(Protocol::Http1, limits());
    client.write_all(GET).await.unwrap();
    sleep(seconds(50)).await;
    client.write_all(b"G").await.unwrap();
    assert_timeout(end, Timeout::Header, 60).await;
}

#[tokio::test(start_paused = true)]
async fn idle_connection_ends_after_idle_timeout() {
    let Connection { mut client, stop: _stop, end } = connect(Protocol::Http1, limits());
    sleep(seconds(5)).await;
    client.write_all(GET).await.unwrap();
    assert_timeout(end, Timeout::Idle, 105).await;
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK") && response.ends_with("\r\n\r\n0"), "{response}");
}

#[tokio::test(start_paused = true)]
async fn body_without_progress_fails_after_body_timeout() {
    let Connection { mut client, stop: _stop, end: _ } = connect(Protocol::Http1, limits());
    let started = Instant::now();
    client.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nx").await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn body_below_minimum_rate_fails() {
    let Connection { client, stop: _stop, end: _ } = connect(Protocol::Http1, limits());
    let started = Instant::now();
    let (mut reader, mut writer) = tokio::io::split(client);
    let sending = tokio::spawn(async move {
        writer.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999\r\n\r\n").await.unwrap();
        drip(&mut writer, &vec![b'x'; 99999]).await;
    });
    let mut response = String::new();
    let _ = reader.read_to_string(&mut response).await;
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    // A byte a second hardly earns any time.
    assert!((30..33).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    sending.abort();
}

#[tokio::test(start_paused = true)]
async fn slow_body_above_minimum_rate_succeeds() {
    let Connection { mut client, stop: _stop, end: _ } = connect(Protocol::Http1, limits());
    let head = format!("POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {LARGE}\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..LARGE / 1024 {
        client.write_all(&[b'x'; 1024]).await.unwrap();
        sleep(Duration::from_millis(990)).await;
    }
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.ends_with(&LARGE.to_string()), "{response}");
}

#[tokio::test(start_paused = true)]
async fn unread_response_ends_after_write_timeout() {
    let Connection { mut client, stop: _stop, end } = connect(Protocol::Http1, limits());
    client.write_all(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert_timeout(end, Timeout::Write, 60).await;
}

/// A large frame that counts the bytes that are taken from it.
struct CountedFrame {
    bytes: Bytes,
    taken: Arc<AtomicUsize>,
}

impl Buf for CountedFrame {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.taken.fetch_add(count, Relaxed);
        self.bytes.advance(count);
    }
}

#[tokio::test(start_paused = true)]
async fn unread_response_occupies_little_memory_however_large_its_frames_are() {
    let (mut client, server) = duplex(4096);
    let (_stop, stopped) = watch::channel(false);
    let taken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&taken);
    let handle = move |_: Request<RequestBody>| {
        let frame = CountedFrame { bytes: vec![b'x'; LARGE].into(), taken: Arc::clone(&counter) };
        async { Response::new(Full::new(frame)) }
    };
    let shared = Arc::new(Shared::new(handle, limits(), Protocol::Http1));
    let serving = tokio::spawn(shared.serve(server, stopped));
    client.write_all(GET).await.unwrap();
    sleep(seconds(30)).await;
    let taken = taken.load(Relaxed);
    assert!((1..128 << 10).contains(&taken), "{taken} bytes were taken from the response");
    serving.abort();
}

#[tokio::test(start_paused = true)]
async fn slow_reader_gets_whole_response_however_long_it_takes() {
    let Connection { mut client, stop: _stop, end: _ } = connect(Protocol::Http1, limits());
    let started = Instant::now();
    client.write_all(b"GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut response = Vec::new();
    let mut part = [0; 4096];
    loop {
        sleep(seconds(50)).await;
        match client.read(&mut part).await.unwrap() {
            0 => break,
            bytes => response.extend_from_slice(&part[..bytes]),
        }
    }
    assert!(response.len() > LARGE, "{}", response.len());
    assert!(started.elapsed() > Duration::from_hours(3), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn response_that_waits_for_its_handler_has_no_limit() {
    let Connection { mut client, stop: _stop, end: _ } = connect(Protocol::Http1, limits());
    client.write_all(b"GET /events HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.contains("one") && response.contains("two"), "{response}");
}

#[tokio::test(start_paused = true)]
async fn handler_beyond_response_timeout_is_replaced_by_408() {
    let limits = Limits { response_timeout: Some(seconds(20)), ..limits() };
    let Connection { mut client, stop: _stop, end } = connect(Protocol::Http1, limits);
    client.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    let (result, elapsed) = end.await.unwrap();
    assert!(result.is_ok() && elapsed.as_secs() == 20, "{result:?} {elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn request_beyond_number_of_requests_gets_503() {
    let Connection { mut client, stop: _stop, end: _ } =
        connect(Protocol::Http1, Limits { requests: 0, ..limits() });
    client.write_all(GET).await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
}

#[tokio::test(start_paused = true)]
async fn connection_beyond_max_age_completes_its_request() {
    let limits = Limits { max_age: Some(seconds(600)), ..limits() };
    let Connection { mut client, stop: _stop, end } = connect(Protocol::Http1, limits);
    client.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.ends_with("slow"), "{response}");
    let (result, elapsed) = end.await.unwrap();
    assert!(result.is_ok() && elapsed.as_secs() == 1000, "{result:?} {elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn stop_completes_requests_and_closes_unused_connections() {
    let unused = connect(Protocol::Http1, limits());
    let mut idle = connect(Protocol::Http1, limits());
    idle.client.write_all(GET).await.unwrap();
    let mut busy = connect(Protocol::Http1, limits());
    busy.client.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    sleep(seconds(3)).await;
    for (Connection { client: _client, stop, end }, seconds) in [(unused, 3), (idle, 3), (busy, 1000)] {
        stop.send_replace(true);
        let (result, elapsed) = end.await.unwrap();
        assert!(result.is_ok() && elapsed.as_secs() == seconds, "{result:?} {elapsed:?}");
    }
}

#[cfg(feature = "http2")]
mod http2 {
    use hyper::client::conn::http2::{Builder, SendRequest};
    use hyper_util::rt::{TokioExecutor, TokioIo};

    use super::*;

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    /// An HTTP/2 client that answers pings until the connection ends.
    async fn client(connection: DuplexStream) -> SendRequest<Channel<Bytes>> {
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .initial_stream_window_size(1 << 16)
            .handshake(TokioIo::new(connection))
            .await
            .unwrap();
        tokio::spawn(connection);
        sender
    }

    fn request(path: &str) -> (http_body_util::channel::Sender<Bytes>, Request<Channel<Bytes>>) {
        let (sender, body) = Channel::new(1);
        (sender, Request::post(format!("http://x{path}")).body(body).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn silent_connection_ends_after_first_byte_timeout() {
        let Connection { client: _client, stop: _stop, end } = connect(Protocol::Http2, limits());
        assert_timeout(end, Timeout::Idle, 15).await;
    }

    #[tokio::test(start_paused = true)]
    async fn first_byte_of_preface_ends_after_header_timeout() {
        let Connection { mut client, stop: _stop, end } = connect(Protocol::Http2, limits());
        client.write_all(&PREFACE[..1]).await.unwrap();
        assert_timeout(end, Timeout::Header, 10).await;
    }

    #[tokio::test(start_paused = true)]
    async fn dripping_preface_ends_after_header_timeout() {
        let Connection { mut client, stop: _stop, end } = connect(Protocol::Http2, limits());
        drip(&mut client, PREFACE).await;
        assert_timeout(end, Timeout::Header, 10).await;
    }

    #[tokio::test(start_paused = true)]
    async fn connection_that_only_answers_pings_ends_after_idle_timeout() {
        let Connection { client: connection, stop: _stop, end } =
            connect(Protocol::Http2, Limits { idle_timeout: seconds(1000), ..limits() });
        let _client = client(connection).await;
        assert_timeout(end, Timeout::Idle, 1000).await;
    }

    #[tokio::test(start_paused = true)]
    async fn unfinished_upload_fails_after_body_timeout() {
        let Connection { client: connection, stop: _stop, end } = connect(Protocol::Http2, limits());
        let mut client = client(connection).await;
        let (mut sender, request) = request("/");
        sender.send_data(Bytes::from_static(b"x")).await.unwrap();
        let response = client.send_request(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
        drop(response);
        assert_timeout(end, Timeout::Idle, 130).await;
    }

    #[tokio::test(start_paused = true)]
    async fn one_unread_response_of_several_ends_connection_after_write_timeout() {
        let Connection { client: connection, stop: _stop, end } = connect(Protocol::Http2, limits());
        let mut client = client(connection).await;
        let mut responses = Vec::new();
        for path in ["/large", "/slow"] {
            let (_, request) = request(path);
            responses.push(tokio::spawn(client.send_request(request)));
        }
        // Its head arrives, and its body is not read.
        let unread = responses.remove(0).await.unwrap().unwrap();
        assert_timeout(end, Timeout::Write, 60).await;
        drop(unread);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_gets_whole_response() {
        let Connection { client: connection, stop: _stop, end: _ } = connect(Protocol::Http2, limits());
        let mut client = client(connection).await;
        let (_, request) = request("/large");
        let mut body = client.send_request(request).await.unwrap().into_body();
        let mut received = 0;
        while let Some(frame) = body.frame().await {
            received += frame.unwrap().data_ref().map_or(0, Bytes::len);
            sleep(seconds(10)).await;
        }
        assert_eq!(received, LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn stop_completes_requests_and_closes_idle_connections() {
        let idle = connect(Protocol::Http2, limits());
        let _idle_client = client(idle.client).await;
        let busy = connect(Protocol::Http2, limits());
        let mut client = client(busy.client).await;
        let (sender, request) = request("/slow");
        drop(sender);
        let response = tokio::spawn(client.send_request(request));
        sleep(seconds(3)).await;
        for (stop, end, seconds) in [(idle.stop, idle.end, 3), (busy.stop, busy.end, 1000)] {
            stop.send_replace(true);
            let (result, elapsed) = end.await.unwrap();
            assert!(result.is_ok() && elapsed.as_secs() == seconds, "{result:?} {elapsed:?}");
        }
        assert_eq!(response.await.unwrap().unwrap().status(), StatusCode::OK);
    }
}

mod accepting {
    use std::future::pending;
    use std::sync::Mutex;

    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::{mpsc, oneshot};

    use super::*;
    use crate::Server;

    async fn server(limits: Limits) -> Server {
        Server::new(TcpListener::bind("127.0.0.1:0").await.unwrap(), limits)
    }

    /// Returns a response.
    async fn get(stream: &mut TcpStream) -> std::io::Result<String> {
        stream.write_all(GET).await?;
        let mut response = Vec::new();
        while !response.ends_with(b"\r\n\r\n0") {
            if stream.read_buf(&mut response).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(String::from_utf8(response).unwrap())
    }

    #[tokio::test]
    async fn connection_beyond_number_of_connections_waits_for_another_to_end() {
        let server = server(Limits { connections: 2, ..limits() }).await;
        let (address, open) = (server.address().unwrap(), server.open_connections());
        tokio::spawn(server.serve(handle, pending()));
        let mut first = TcpStream::connect(address).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        get(&mut first).await.unwrap();
        get(&mut second).await.unwrap();
        let mut third = TcpStream::connect(address).await.unwrap();
        let third = tokio::spawn(async move { get(&mut third).await });
        for _ in 0..100 {
            // Each is a turn of the server in which it could accept the third one.
            get(&mut second).await.unwrap();
        }
        assert!(!third.is_finished());
        assert_eq!(open.get(), 2);
        drop(first);
        third.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn connection_beyond_number_of_peer_is_closed_at_once() {
        let errors = Arc::new(Mutex::new(Vec::new()));
        let observed = Arc::clone(&errors);
        let server = server(Limits { connections_per_peer: Some(1), ..limits() })
            .await
            .on_error(move |error| observed.lock().unwrap().push(error.to_string()));
        let (address, open) = (server.address().unwrap(), server.open_connections());
        tokio::spawn(server.serve(handle, pending()));
        let mut first = TcpStream::connect(address).await.unwrap();
        get(&mut first).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        let mut nothing = Vec::new();
        // It is reset if it is closed before it is accepted.
        let _ = second.read_to_end(&mut nothing).await;
        assert!(nothing.is_empty());
        assert_eq!(*errors.lock().unwrap(), ["too many connections from 127.0.0.1"]);
        drop(first);
        while open.get() > 0 {
            tokio::task::yield_now().await;
        }
        get(&mut TcpStream::connect(address).await.unwrap()).await.unwrap();
    }

    #[tokio::test]
    async fn failed_handshake_is_reported_and_others_are_served() {
        let (reported, mut errors) = mpsc::unbounded_channel();
        let server = server(limits())
            .await
            .with_handshake(|mut stream| async move {
                match stream.read_u8().await? {
                    b'y' => Ok(stream),
                    _ => Err(std::io::ErrorKind::InvalidData.into()),
                }
            })
            .on_error(move |error| reported.send(error.to_string()).unwrap());
        let address = server.address().unwrap();
        tokio::spawn(server.serve(handle, pending()));
        let mut bad = TcpStream::connect(address).await.unwrap();
        bad.write_all(b"n").await.unwrap();
        assert_eq!(errors.recv().await.unwrap(), "the handshake failed");
        let mut good = TcpStream::connect(address).await.unwrap();
        good.write_all(b"y").await.unwrap();
        get(&mut good).await.unwrap();
    }

    #[tokio::test]
    async fn stop_closes_the_port_and_returns_when_connections_are_closed() {
        let server = server(limits()).await;
        let address = server.address().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(handle, async move {
            let _ = stopped.await;
        }));
        let mut idle = TcpStream::connect(address).await.unwrap();
        get(&mut idle).await.unwrap();
        drop(stop);
        serving.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
