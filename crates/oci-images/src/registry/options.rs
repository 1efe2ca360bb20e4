//! How registries are reached.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::HeaderValue;

use super::connections::SharedConnections;
use super::deadline::Timeout;
use super::mirrors::Mirrors;
use super::retry::Backoff;

/// How registries are reached. Repositories that are used with the same options, or with clones of them, share connections.
///
/// By default: HTTPS with the system's certificates, 10 minutes for each repository and 30
/// seconds without progress.
///
/// ```
/// use std::time::Duration;
///
/// use oci_images::registry::{Deadline, Mirrors, Options, Timeout};
///
/// let mut options = Options::default();
/// options.user_agent = Some("example/1.0".to_owned());
/// options.mirrors = Mirrors::from_files(["/etc/containers/registries.conf"]);
/// // An hour for each repository; or for everything that is done with these options, from now on.
/// options.timeout = Timeout::After(Duration::from_secs(3600));
/// options.timeout = Timeout::At(Deadline::after(Duration::from_secs(3600)));
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// PEM files with certificates of authorities to trust in addition to the system's.
    pub ca_files: Vec<PathBuf>,
    /// The certificate that this client shows to registries that ask for one. Servers that a registry sends the client on to
    /// never see it.
    pub client_certificate: Option<ClientCertificate>,
    /// Directories with a directory of certificates for each registry (containers-certs.d(5)).
    pub certificate_directories: Vec<PathBuf>,
    /// Whether certificates of registries are accepted without any verification. Anyone on the way to a registry can then
    /// read and change everything, passwords included. The certificates of servers that a registry sends the client on to are
    /// verified.
    pub skip_tls_verification: bool,
    /// Whether every registry is reached as one that registries.conf calls insecure: without verifying its certificate, and
    /// without TLS if it has none.
    pub insecure: bool,
    /// Mirrors to read from.
    pub mirrors: Mirrors,
    /// Whether registries on literal loopback addresses are reached without TLS.
    pub plain_http: bool,
    /// Registries (host, or host and port) elsewhere that are reached without TLS.
    pub plain_http_hosts: Vec<String>,
    /// How often and how patiently requests are retried.
    pub backoff: Backoff,
    /// How long all requests of a repository may take together.
    pub timeout: Timeout,
    /// How long a request may go without progress.
    pub idle_timeout: IdleTimeout,
    /// How many blobs are transferred at once.
    pub parallel: Parallel,
    /// The name and the version of the program, which requests carry: `example/1.0`. The name is also the client's at token
    /// servers. Without, it is this crate's.
    pub user_agent: Option<String>,
    /// What repositories that use these options and their clones share.
    pub(crate) connections: SharedConnections,
    /// What requests name as the cache that they come from, in their header `Via`.
    pub(crate) via: Option<HeaderValue>,
}

impl Options {
    /// Returns the same options with a timeout that has begun.
    pub(crate) fn started(&self) -> Self {
        Self { timeout: Timeout::At(self.timeout.start()), ..self.clone() }
    }
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
