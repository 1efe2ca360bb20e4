//! How a registry is served.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::limits::Limits;
use super::proxy::Upstream;
use super::tls::Certificate;

/// How a registry is served.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Where to listen. Port 0 chooses a free port.
    pub address: SocketAddr,
    /// Where to store. The directory is created if it does not exist; otherwise it must be empty or a registry.
    pub directory: PathBuf,
    /// Whether `address` may be reachable from other machines.
    pub listen_anywhere: bool,
    /// Names under which clients reach the registry, beside its address and `localhost`.
    pub hosts: Vec<String>,
    /// Whether to serve an existing registry without changing it. Several servers may do that at once.
    pub read_only: bool,
    /// Another registry: what the directory lacks is fetched from it, and clients may only read. Not with `read_only`.
    pub upstream: Option<Upstream>,
    /// The certificate with which TLS is served; plain HTTP without.
    pub certificate: Option<Certificate>,
    /// An htpasswd file with bcrypt hashes: every request then needs a user and a password.
    pub users: Option<PathBuf>,
    /// The limits.
    pub limits: Limits,
}

impl Options {
    /// Returns the options of a registry that is reachable from this machine only.
    pub fn new(address: SocketAddr, directory: impl Into<PathBuf>) -> Self {
        Self {
            address,
            directory: directory.into(),
            listen_anywhere: false,
            hosts: Vec::new(),
            read_only: false,
            upstream: None,
            certificate: None,
            users: None,
            limits: Limits::default(),
        }
    }
}
