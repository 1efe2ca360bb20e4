//! The limits of the server: what one client may occupy, and for how long.

use std::time::Duration;

/// The limits of the server. The defaults suit a registry for tests and trials on one machine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of open connections. Others wait until one is closed.
    pub connections: usize,
    /// The maximum time to read the headers of a request, or to wait for one on an open connection.
    pub header_timeout: Duration,
    /// The maximum time without progress of a body, in either direction. A request's body must also arrive with an
    /// average of at least [`Limits::MIN_BYTES_PER_SECOND`] after this time.
    pub body_timeout: Duration,
    /// The maximum time for requests in progress to complete when the server stops.
    pub shutdown_timeout: Duration,
    /// The maximum number of uploads in progress. Beyond it, the one that was not used for the longest time gives way to
    /// a new one, if it has no bytes or was not used for `upload_idle_if_full`.
    pub uploads: usize,
    /// The time without a request about an upload after which it may give way to a new one.
    pub upload_idle_if_full: Duration,
    /// The maximum size of a blob in bytes.
    pub blob_bytes: u64,
    /// The maximum size of all uploads in progress in bytes.
    pub upload_bytes: u64,
    /// The maximum time without a request about an upload; then it is removed.
    pub upload_idle: Duration,
    /// The maximum age of an upload; then it is removed.
    pub upload_age: Duration,
}

impl Limits {
    /// The minimum average rate of a request's body.
    pub const MIN_BYTES_PER_SECOND: u64 = 1024;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(10),
            uploads: 1000,
            upload_idle_if_full: Duration::from_mins(1),
            blob_bytes: 16 << 30,
            upload_bytes: 32 << 30,
            upload_idle: Duration::from_mins(10),
            upload_age: Duration::from_hours(24),
        }
    }
}
