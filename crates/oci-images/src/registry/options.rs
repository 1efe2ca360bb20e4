//! How registries are reached.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::HeaderValue;

use super::deadline::Deadline;
use super::mirrors::Mirrors;
use super::retry::Backoff;

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

/// A client certificate: PEM files, which may be the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, with intermediate ones if there are any.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
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

/// How long a request may go without progress: 30 seconds by default. Less than 32 KiB in this time count as none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleTimeout(pub Duration);

impl Default for IdleTimeout {
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}
