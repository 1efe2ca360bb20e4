//! Why connections end early.

use std::fmt;
use std::io;
use std::net::IpAddr;

/// Why a connection was not accepted, or ended before it was complete. None of these concerns the other connections.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The system cannot accept a connection, for example for lack of file descriptors. The server tries again.
    #[error("failed to accept a connection")]
    Accept(#[source] io::Error),
    /// A peer has [`Limits::connections_per_peer`](crate::Limits::connections_per_peer) connections already.
    #[error("too many connections from {0}")]
    TooManyFromPeer(IpAddr),
    /// The TLS handshake failed.
    #[error("the handshake failed")]
    Handshake(#[source] io::Error),
    /// A limit of time was exceeded.
    #[error("timed out {0}")]
    Timeout(Timeout),
    /// The client broke the protocol, or the connection broke.
    #[error("the connection failed")]
    Http(#[source] hyper::Error),
}

/// A limit of time that a connection exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timeout {
    /// [`Limits::handshake_timeout`](crate::Limits::handshake_timeout).
    Handshake,
    /// [`Limits::header_timeout`](crate::Limits::header_timeout).
    Header,
    /// [`Limits::idle_timeout`](crate::Limits::idle_timeout) or
    /// [`Limits::first_byte_timeout`](crate::Limits::first_byte_timeout).
    Idle,
    /// [`Limits::write_timeout`](crate::Limits::write_timeout).
    Write,
}

impl fmt::Display for Timeout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Handshake => "during the handshake",
            Self::Header => "waiting for the head of a request",
            Self::Idle => "waiting for a request",
            Self::Write => "waiting for the client to read a response",
        })
    }
}
