//! TLS with a certificate that may be replaced while connections are open.

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("failed to read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The certificate is not PEM.
    #[error("invalid certificate: expected PEM")]
    Certificate(#[source] pem::Error),
    /// The private key is not PEM.
    #[error("invalid private key: expected PEM")]
    Key(#[source] pem::Error),
    /// The private key does not belong to the certificate.
    #[error("the private key does not match the certificate, or its type is not supported")]
    Mismatch(#[source] rustls::Error),
    /// TLS could not be configured.
    #[error("failed to configure TLS")]
    Config(#[source] rustls::Error),
}

/// The certificate that new connections use; open connections keep theirs.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    current: Arc<RwLock<Option<Arc<CertifiedKey>>>>,
}

impl Certificate {
    /// Replaces the certificate chain and its key.
    ///
    /// # Errors
    /// When they are not PEM, or the key does not belong to the certificate.
    pub fn set(&self, chain: &[u8], key: &[u8]) -> Result<(), Error> {
        let chain = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(Error::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(Error::Key)?;
        let certified =
            CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(Error::Mismatch)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certified));
        Ok(())
    }

    /// Replaces the certificate chain and its key by `tls.crt` and `tls.key` of a directory.
    ///
    /// # Errors
    /// When a file cannot be read, and those of [`Certificate::set`].
    pub fn load(&self, directory: &Path) -> Result<(), Error> {
        let read = |name: &str| {
            let path = directory.join(name);
            std::fs::read(&path).map_err(|source| Error::Read { path, source })
        };
        self.set(&read("tls.crt")?, &read("tls.key")?)
    }

    /// Returns what accepts TLS connections with this certificate, for [`serve`](super::serve::serve).
    ///
    /// # Errors
    /// When TLS cannot be configured.
    pub fn acceptor(&self) -> Result<TlsAcceptor, Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Error::Config)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self.clone()));
        // Without tickets no session outlives the certificate it began with.
        config.send_tls13_tickets = 0;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Whether there is a certificate to serve with.
    #[cfg(test)]
    pub(crate) fn is_set(&self) -> bool {
        self.current.read().unwrap().is_some()
    }

    /// Whether this is the certificate that new connections use.
    #[cfg(test)]
    pub(crate) fn serves(&self, pem: &[u8]) -> bool {
        let current = self.current.read().unwrap();
        current
            .as_ref()
            .is_some_and(|current| current.cert[0] == CertificateDer::from_pem_slice(pem).unwrap())
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
