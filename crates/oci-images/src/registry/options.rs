//! How registries are reached.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::header::HeaderValue;

use super::certificates::ClientCertificate;
use super::{Backoff, mirrors::Mirrors};

/// How registries are reached. By default: HTTPS with the system's certificates, 10 minutes for everything and 30
/// seconds without progress.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// PEM files with certificates of authorities to trust in addition to the system's.
    pub ca_files: Vec<PathBuf>,
    /// The certificate that this client shows to registries that ask for one.
    pub client_certificate: Option<ClientCertificate>,
    /// Directories with a directory of certificates for each registry (containers-certs.d(5)).
    pub certificate_directories: Vec<PathBuf>,
    /// Whether certificates of registries are accepted without any verification. Anyone on the way to a registry can then
    /// read and change everything, passwords included.
    pub skip_tls_verification: bool,
    /// Mirrors to read from.
    pub mirrors: Mirrors,
    /// Whether registries on literal loopback addresses are reached without TLS.
    pub plain_http: bool,
    /// Registries (host, or host and port) elsewhere that are reached without TLS.
    pub plain_http_hosts: Vec<String>,
    /// How often and how patiently requests are retried.
    pub backoff: Backoff,
    /// When everything that uses these options must have ended.
    pub deadline: Deadline,
    /// How long a request may go without progress.
    pub idle_timeout: IdleTimeout,
    /// How many blobs are transferred at once.
    pub parallel: Parallel,
    /// What requests name as the cache that they come from, in their header `Via`.
    pub(super) via: Option<HeaderValue>,
}

/// How many blobs are transferred at once: 4 by default, between 1 and 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallel(pub usize);

impl Parallel {
    /// The maximum.
    const MAX: usize = 64;

    /// Returns the number within its bounds.
    pub(crate) fn get(self) -> usize {
        self.0.clamp(1, Self::MAX)
    }
}

impl Default for Parallel {
    fn default() -> Self {
        Self(4)
    }
}

/// The time at which all work must have ended, counted from when the value is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    at: Instant,
    total: Duration,
}

impl Default for Deadline {
    /// 10 minutes from now.
    fn default() -> Self {
        Self::after(Duration::from_mins(10))
    }
}

impl Deadline {
    /// Returns the deadline `total` from now.
    #[must_use]
    pub fn after(total: Duration) -> Self {
        let now = Instant::now();
        // A time beyond what the clock can represent is never reached.
        let at = now.checked_add(total).unwrap_or(now + Duration::from_hours(24 * 365));
        Self { at, total }
    }

    /// Returns the point in time.
    pub(super) fn at(self) -> Instant {
        self.at
    }

    /// Returns the whole time that was given.
    pub(super) fn total(self) -> Duration {
        self.total
    }

    /// Returns the time that is left.
    pub(super) fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}

/// How long a request may go without progress: 30 seconds by default. Less than 32 KiB in this time count as none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleTimeout(pub Duration);

impl Default for IdleTimeout {
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}
