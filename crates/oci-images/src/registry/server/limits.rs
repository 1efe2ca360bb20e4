//! The limits of the server: what one client may occupy, and for how long.

use std::time::Duration;

/// The limits of the server. The defaults suit a registry for tests and trials on one machine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The limits of connections and requests.
    pub http: limited_http::Limits,
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

impl Default for Limits {
    fn default() -> Self {
        let mut http = limited_http::Limits::default();
        http.connections = 128;
        Self {
            http,
            uploads: 1000,
            upload_idle_if_full: Duration::from_mins(1),
            blob_bytes: 16 << 30,
            upload_bytes: 32 << 30,
            upload_idle: Duration::from_mins(10),
            upload_age: Duration::from_hours(24),
        }
    }
}
