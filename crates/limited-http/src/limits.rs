//! The limits and their defaults.

use std::time::Duration;

/// What the clients of a server may occupy, and for how long.
///
/// The defaults suit a server whose clients are not known; set the fields that differ:
///
/// ```
/// let mut limits = limited_http::Limits::default();
/// limits.connections_per_peer = Some(32);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of open connections. Further ones wait in the kernel's backlog. 1,024 by default.
    pub connections: usize,
    /// The maximum number of open connections from one IPv4 address or one /64 network of IPv6 addresses. Further ones
    /// are closed at once. No limit by default, because all clients behind a proxy have one address.
    pub connections_per_peer: Option<usize>,
    /// The maximum number of requests in progress on all connections: what a handler holds in memory times this number is
    /// what clients can occupy. Further ones wait for up to [`Limits::header_timeout`] and then get the status 503.
    /// 1,024 by default.
    pub requests: usize,
    /// The maximum number of requests in progress on one HTTP/2 connection. Clients wait with further ones. 32 by default.
    pub requests_per_connection: u32,
    /// The maximum size of the head of a request in bytes. 32 KiB by default.
    pub head_bytes: u32,
    /// The size of the kernel's buffer for each connection in bytes; `None` lets the kernel choose (up to 4 MiB on Linux).
    /// A small one limits memory, and lets the server notice the progress of a slow client early: the kernel reports
    /// progress in steps of up to its size. 256 KiB by default.
    pub send_buffer: Option<usize>,
    /// The maximum time of a TLS handshake, or whatever [`Server::with_handshake`](crate::Server::with_handshake) does.
    /// 10 seconds by default.
    pub handshake_timeout: Duration,
    /// The maximum time until the first byte of a connection arrives. 10 seconds by default. Some clients open connections
    /// before they need them, for example those of Go's `net/http`: for them, it should be as long as
    /// [`Limits::idle_timeout`].
    pub first_byte_timeout: Duration,
    /// The maximum time from the first byte of a request until its head is complete, and over HTTP/2 from the first byte of
    /// the connection until it is set up. 10 seconds by default.
    pub header_timeout: Duration,
    /// The maximum time between two requests, and over HTTP/2 also before the first one. 60 seconds by default.
    pub idle_timeout: Duration,
    /// The maximum time from the head of a request to the head of its response; then the response is the status 408. No limit
    /// by default.
    pub response_timeout: Option<Duration>,
    /// The maximum time to wait for the next bytes of a request's body. 30 seconds by default.
    pub body_timeout: Duration,
    /// The minimum average rate of a request's body in bytes a second, measured while the handler waits for bytes and
    /// once that has taken longer than [`Limits::body_timeout`]. 1,024 by default; 0 disables it.
    pub body_rate: u32,
    /// The maximum time in which a client reads nothing of a response, or over HTTP/2 less than 16 KiB of it. 60 seconds by
    /// default.
    pub write_timeout: Duration,
    /// The age after which a connection accepts no further request. Requests in progress are completed. No limit by default.
    pub max_age: Option<Duration>,
    /// The maximum time for requests in progress to complete when the server stops. 10 seconds by default.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_peer: None,
            requests: 1024,
            requests_per_connection: 32,
            head_bytes: 32 << 10,
            send_buffer: Some(256 << 10),
            handshake_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            response_timeout: None,
            body_timeout: Duration::from_secs(30),
            body_rate: 1024,
            write_timeout: Duration::from_mins(1),
            max_age: None,
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}
