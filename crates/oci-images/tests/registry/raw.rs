//! A server that sends exactly the bytes that a test says, over TCP or TLS, and may never stop.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    /// The whole head.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// What is sent for a request.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    start: Vec<u8>,
    end: End,
}

/// What happens after the start of a reply.
#[derive(Debug, Clone)]
enum End {
    /// The next request is read.
    Keep,
    /// The connection is closed.
    Close,
    /// Nothing, for ever.
    Stall,
    /// These bytes, again and again, with a pause before each.
    Repeat(Vec<u8>, Duration),
}

/// A response with a length, after which the connection is kept.
pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut start = head(status, headers);
    start.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    start.extend_from_slice(body);
    Reply { start, end: End::Keep }
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} Any\r\n{lines}").into_bytes()
}

/// A response that never ends: `part` is sent for ever, with `pause` before each.
pub(crate) fn endless(status: u16, headers: &[(&str, &str)], part: &[u8], pause: Duration) -> Reply {
    let mut start = head(status, headers);
    start.extend_from_slice(b"connection: close\r\n\r\n");
    Reply { start, end: End::Repeat(part.to_vec(), pause) }
}

/// A response whose head never ends.
pub(crate) fn endless_head(part: &[u8], pause: Duration) -> Reply {
    Reply { start: b"HTTP/1.1 200 OK\r\nx: ".to_vec(), end: End::Repeat(part.to_vec(), pause) }
}

/// Bytes, and then nothing.
pub(crate) fn stall(start: &[u8]) -> Reply {
    Reply { start: start.to_vec(), end: End::Stall }
}

/// Bytes, and then the connection is closed.
pub(crate) fn close(start: &[u8]) -> Reply {
    Reply { start: start.to_vec(), end: End::Close }
}

/// What a server observed.
#[derive(Clone, Default)]
pub(crate) struct Log {
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicU64>,
    sent: Arc<AtomicU64>,
}

impl Log {
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The number of requests whose path contains `part`.
    pub(crate) fn count(&self, part: &str) -> usize {
        self.requests().iter().filter(|request| request.path.contains(part)).count()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// The number of bytes sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }
}

/// Serves `handle` on a free port of loopback until the test ends.
pub(crate) async fn serve(
    tls: Option<TlsAcceptor>,
    handle: impl Fn(SocketAddr, &Request) -> Reply + Send + Sync + 'static,
) -> (SocketAddr, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let log = Log::default();
    let (handle, observed) = (Arc::new(handle), log.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            observed.connections.fetch_add(1, Ordering::SeqCst);
            let (handle, log, tls) = (Arc::clone(&handle), observed.clone(), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => connection(stream, &log, |request| handle(address, request)).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            connection(stream, &log, |request| handle(address, request)).await;
                        }
                    }
                }
            });
        }
    });
    (address, log)
}

/// Answers the requests of one connection.
pub(crate) async fn connection(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    log: &Log,
    handle: impl Fn(&Request) -> Reply,
) {
    while let Some(request) = read(&mut stream).await {
        let Reply { start, end } = handle(&request);
        log.requests.lock().unwrap().push(request);
        let mut send = async |bytes: &[u8]| {
            log.sent.fetch_add(bytes.len() as u64, Ordering::SeqCst);
            stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok()
        };
        if !send(&start).await {
            return;
        }
        match end {
            End::Keep => {}
            End::Close => return,
            End::Stall => std::future::pending().await,
            End::Repeat(part, pause) => {
                while send(&part).await {
                    tokio::time::sleep(pause).await;
                }
                return;
            }
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    let mut request = Request { method, path, head, body: bytes[end + 4..].to_vec() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(request)
}

/// A certificate for 127.0.0.1 that signs itself, as a server uses it and as a file for clients to trust.
pub(crate) fn tls() -> (TlsAcceptor, tempfile::NamedTempFile) {
    let key = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), key.cert.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![key.cert.der().clone()],
            rustls::pki_types::PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into()),
        )
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), file)
}
