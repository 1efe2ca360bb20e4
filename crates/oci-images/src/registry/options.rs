//! How registries are reached.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::{Backoff, Error, file};

/// Maximum size of a file with certificates, in bytes.
const MAX_CERTIFICATES: u64 = 4 << 20;

/// How registries are reached. By default: HTTPS with the system's certificates, 10 minutes for everything and 30
/// seconds without progress.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// PEM files with certificates of authorities to trust in addition to the system's.
    pub ca_files: Vec<PathBuf>,
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

impl Options {
    /// Returns the certificates of [`Options::ca_files`], DER-encoded.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Error> {
        let mut certificates = Vec::new();
        for path in &self.ca_files {
            certificates.append(&mut read_certificates(path)?);
        }
        Ok(certificates)
    }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let fail = |reason: String| Error::Certificates { path: path.to_owned(), reason };
    let pem = file::read(path, MAX_CERTIFICATES).map_err(|error| fail(error.to_string()))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| fail(format!("invalid PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(fail("the file contains no PEM certificate".into()));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_certificate_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        let mut options = Options { ca_files: vec![path.clone()], ..Options::default() };
        for text in [
            None,
            Some("no certificate"),
            Some("-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----\n"),
        ] {
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            let error = options.certificates().unwrap_err().to_string();
            assert!(error.contains("ca.pem"), "{error}");
        }
        options.ca_files = vec!["/dev/zero".into()];
        let error = options.certificates().unwrap_err().to_string();
        assert!(error.contains("/dev/zero: expected a regular file"), "{error}");
    }
}
