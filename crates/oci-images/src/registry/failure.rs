//! Failures of single requests, which are retried or become an [`Error`](super::Error).

use std::fmt;
use std::time::Duration;

use reqwest::StatusCode;

use super::deadline::Deadline;
use crate::layout;
use crate::plain::Cause;

/// Why a request did not give what was asked for. All text in it is [clean](crate::secrets::Secrets::clean).
#[derive(Debug)]
pub(crate) enum Failure {
    /// No connection could be established.
    Unreachable(Cause),
    /// The connection broke.
    Broken(Cause),
    /// The server answered with an unexpected status.
    Status { status: StatusCode, message: String, retry_after: Option<Duration> },
    /// There was no progress within the idle timeout.
    Stalled { request: String, after: Duration },
    /// The deadline passed.
    Expired { request: String, deadline: Deadline },
    /// A response is larger than its limit.
    TooLarge { request: String, limit: u64 },
    /// The server sent the client to an address that it must not go to.
    Target { target: String, reason: String },
    /// The response violates the protocol, or is not what it claims to be.
    Invalid(String),
    /// The registry requires other credentials.
    Login(String),
    /// The token server failed. That has been retried already.
    Token { server: String, cause: Box<Failure> },
    /// The image to be sent cannot be read, or a temporary file not be written.
    Local(layout::Error),
}

impl Failure {
    /// Returns whether the server refused the request itself, so that another request may succeed.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Status { status, .. } => {
                let may_succeed_later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
                status.is_client_error() && !may_succeed_later.contains(status)
            }
            Self::Login(_) => true,
            Self::Token { cause, .. } => cause.is_refusal(),
            _ => false,
        }
    }
}

impl Failure {
    /// Returns whether the same request may succeed later: the connection broke, or the server is busy or has a defect.
    pub(crate) fn may_succeed_later(&self) -> bool {
        match self {
            Self::Broken(_) | Self::Unreachable(_) => true,
            Self::Status { .. } => !self.is_refusal(),
            _ => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(cause) => write!(formatter, "{cause}"),
            Self::Invalid(reason) | Self::Login(reason) => formatter.write_str(reason),
            Self::Broken(reason) => write!(formatter, "the connection was interrupted: {reason}"),
            Self::Status { status, message, .. } => formatter.write_str(&status_text(*status, message)),
            Self::Stalled { request, .. } => write!(formatter, "`{request}` stalled"),
            Self::Expired { request, .. } => write!(formatter, "`{request}` timed out"),
            Self::TooLarge { limit, .. } => {
                write!(formatter, "the response exceeds the limit of {limit} bytes")
            }
            Self::Target { target, reason } => write!(formatter, "`{target}`: {reason}"),
            Self::Token { cause, .. } => write!(formatter, "{cause}"),
            Self::Local(error) => write!(formatter, "{error}"),
        }
    }
}

/// Returns a status with what its response said.
pub(crate) fn status_text(status: StatusCode, message: &str) -> String {
    let code = status.as_u16();
    match (message, status.canonical_reason()) {
        ("", Some(reason)) => format!("status {code} ({reason})"),
        ("", None) => format!("status {code}"),
        (message, _) => format!("status {code}: {message}"),
    }
}
