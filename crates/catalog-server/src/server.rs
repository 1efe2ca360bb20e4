//! The ports: gRPC over HTTP/2, or the web over HTTP/1.1, within the limits of [`limited_http`].

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use limited_http::{Limits, RequestBody};
use tokio::net::TcpListener;

use super::state::CatalogState;
use super::{grpc, http};

/// How long calls in progress may take to end when the server stops.
pub const GRACE: Duration = Duration::from_secs(10);

/// How long a gRPC connection may be open without a call: clients keep one for as long as they run.
const GRPC_IDLE: Duration = Duration::from_hours(1);

/// The maximum number of gRPC calls at a time, each of which may hold a request's message or a piece of an answer. A client with few
/// connections cannot use them all up.
const MAX_CALLS: usize = 2048;

/// The maximum number of gRPC calls at a time on a connection; clients wait with further ones. It therefore takes many connections that
/// read no answers before others wait for [`MAX_ANSWERS`](super::state::MAX_ANSWERS).
const MAX_CALLS_PER_CONNECTION: u32 = 8;

/// The maximum number of connections at a time. Further ones wait in the kernel.
const MAX_CONNECTIONS: usize = 4096;

/// The maximum size of the head of a request in bytes.
const MAX_HEAD: u32 = 16 << 10;

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The registry's API over gRPC.
    Grpc,
    /// catalogd's API, pages and metrics over HTTP/1.1.
    Http,
}

impl Protocol {
    fn limits(self) -> Limits {
        let mut limits = Limits::default();
        limits.connections = MAX_CONNECTIONS;
        limits.head_bytes = MAX_HEAD;
        limits.shutdown_timeout = GRACE;
        if self == Self::Grpc {
            limits.requests = MAX_CALLS;
            limits.requests_per_connection = MAX_CALLS_PER_CONNECTION;
            limits.idle_timeout = GRPC_IDLE;
        }
        limits
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    http: limited_http::Server,
    state: Arc<CatalogState>,
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
        state: Arc<CatalogState>,
        protocol: Protocol,
    ) -> io::Result<Self> {
        Self::bind_with(address, port, state, protocol, protocol.limits()).await
    }

    async fn bind_with(
        address: Option<IpAddr>,
        port: u16,
        state: Arc<CatalogState>,
        protocol: Protocol,
        limits: Limits,
    ) -> io::Result<Self> {
        let any = IpAddr::from(Ipv6Addr::UNSPECIFIED);
        let listener = match TcpListener::bind((address.unwrap_or(any), port)).await {
            // A machine without IPv6.
            Err(error) if address.is_none() && error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await.map_err(|_| error)?
            }
            result => result?,
        };
        let server = limited_http::Server::new(listener, limits);
        state.metrics().count_connections(server.open_connections());
        Ok(Self { http: server, state, protocol })
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    /// The system does not know.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.http.address()
    }

    /// Serves until `stop` completes; calls in progress then have [`GRACE`] to end.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { http, state, protocol } = self;
        match protocol {
            Protocol::Grpc => {
                let answer = move |request: hyper::Request<RequestBody>| {
                    let state = Arc::clone(&state);
                    async move { grpc::answer(&state, request).await }
                };
                http.http2().serve(answer, stop).await;
            }
            Protocol::Http => {
                let answer = move |request: hyper::Request<RequestBody>| {
                    let (state, request) = (Arc::clone(&state), request.map(drop));
                    async move { http::answer(&state, &request).await }
                };
                http.serve(answer, stop).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use ::http::Request;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::load;
    use crate::state::MAX_ANSWERS;

    /// A catalog whose answers do not fit into the buffers of a connection.
    fn state(directory: &std::path::Path) -> Arc<CatalogState> {
        let description = "x".repeat(8 << 20);
        let catalog = format!(
            "schema: olm.package\nname: gizmo\ndefaultChannel: stable\ndescription: {description}\n---\nschema: olm.channel\n\
             name: stable\npackage: gizmo\nentries: [{{name: gizmo.v1.0.0}}]\n---\nschema: olm.bundle\nname: gizmo.v1.0.0\n\
             package: gizmo\nimage: quay.io/a/b:v1\nproperties:\n\
             - {{type: olm.package, value: {{packageName: gizmo, version: 1.0.0}}}}\n"
        );
        std::fs::write(directory.join("catalog.yaml"), catalog).unwrap();
        Arc::new(CatalogState::new(load::snapshot(directory, None, Some("catalog")).unwrap()))
    }

    /// Serves with short limits while `client` runs.
    async fn with_server<F: Future<Output = ()>>(protocol: Protocol, client: impl FnOnce(TcpStream) -> F) {
        let directory = tempfile::tempdir().unwrap();
        let mut limits = protocol.limits();
        limits.header_timeout = Duration::from_millis(200);
        limits.body_timeout = Duration::from_millis(200);
        limits.write_timeout = Duration::from_millis(200);
        let address = Some(Ipv4Addr::LOCALHOST.into());
        let server = Server::bind_with(address, 0, state(directory.path()), protocol, limits).await.unwrap();
        let address = server.address().unwrap();
        let client = async { client(TcpStream::connect(address).await.unwrap()).await };
        tokio::select! {
            () = server.serve(std::future::pending()) => unreachable!("nothing stops the server"),
            () = client => {}
        }
    }

    #[tokio::test]
    async fn grpc_connection_with_one_byte_of_the_preface_is_closed() {
        with_server(Protocol::Grpc, async |mut stream| {
            stream.write_all(b"P").await.unwrap();
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
        .await;
    }

    #[tokio::test]
    async fn grpc_call_whose_message_never_arrives_is_answered() {
        with_server(Protocol::Grpc, async |stream| {
            let (mut send, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                    .await
                    .unwrap();
            let request = Request::post("/api.Registry/GetPackage")
                .header("content-type", "application/grpc")
                .body(http_body_util::StreamBody::new(futures::stream::pending::<
                    Result<hyper::body::Frame<bytes::Bytes>, std::convert::Infallible>,
                >()))
                .unwrap();
            let answered = send.send_request(request);
            let connection = pin!(connection);
            futures::future::select(pin!(answered), connection).await;
        })
        .await;
    }

    /// Sends a call with an empty message. Returns whether it is answered within a time.
    async fn is_answered(address: SocketAddr, path: &str) -> bool {
        let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
        let (mut send, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::post(path).header("content-type", "application/grpc");
        let message = http_body_util::Full::new(bytes::Bytes::from_static(&[0; 5]));
        let answered = send.send_request(request.body(message).unwrap());
        let is_answered = tokio::time::timeout(Duration::from_millis(500), answered).await.is_ok();
        connection.abort();
        is_answered
    }

    #[tokio::test]
    async fn health_is_checked_while_nobody_reads_the_answers() {
        let directory = tempfile::tempdir().unwrap();
        let state = state(directory.path());
        let address = Some(Ipv4Addr::LOCALHOST.into());
        let server = Server::bind(address, 0, Arc::clone(&state), Protocol::Grpc).await.unwrap();
        let address = server.address().unwrap();
        let answers = Arc::clone(state.answers());
        let client = async {
            assert!(is_answered(address, "/api.Registry/ListPackages").await);
            let held = answers.acquire_many(MAX_ANSWERS).await.unwrap();
            assert!(!is_answered(address, "/api.Registry/ListPackages").await);
            assert!(is_answered(address, "/grpc.health.v1.Health/Check").await);
            drop(held);
            assert!(is_answered(address, "/api.Registry/ListPackages").await);
        };
        tokio::select! {
            () = server.serve(std::future::pending()) => unreachable!("nothing stops the server"),
            () = client => {}
        }
    }

    #[tokio::test]
    async fn http_client_that_reads_nothing_is_disconnected() {
        with_server(Protocol::Http, async |mut stream| {
            stream.write_all(b"GET /catalogs/catalog/api/v1/all HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            // Only the end of the connection ends this: the server reads no further request before the answer is sent.
            let zeros = vec![0; 64 << 10];
            while stream.write_all(&zeros).await.is_ok() {}
        })
        .await;
    }
}
