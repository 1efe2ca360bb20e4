//! TLS of the server: a certificate and its key from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::error::Error;
use crate::plain::{Cause, io_error};
use crate::registry::file;

/// The maximum size of a PEM file in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate in PEM, followed by intermediate ones if there are any.
    pub certificate: PathBuf,
    /// Its private key in PEM.
    pub key: PathBuf,
}

impl Certificate {
    /// Reads the files.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, Error> {
        let Self { certificate, key } = self;
        let pem = read(certificate)?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<_, _>>()
            .map_err(|error| failed(certificate, format!("invalid PEM: {error}")))?;
        if chain.is_empty() {
            return Err(failed(certificate, "the file contains no PEM certificate".into()));
        }
        // The parser's own words might quote the key.
        let private = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|_| failed(key, "the file contains no PEM private key".into()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(certificate, Cause::find(&error).to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|_| failed(certificate, "the private key does not belong to the certificate".into()))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    file::read(path, MAX_FILE).map_err(|error| failed(path, io_error(&error)))
}

fn failed(path: &Path, reason: String) -> Error {
    Error::File { path: path.to_owned(), reason }
}
