//! Public keys, and what a signature says that one verifies.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

use super::file;
use crate::plain::io_error;

/// Maximum size of a file with a key, in bytes.
const MAX_KEY: u64 = 64 << 10;
/// What precedes the point of a P-256 key in its SPKI form (RFC 5480).
const SPKI_P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to read a key from {}: {reason}", .path.display())]
pub struct KeyError {
    path: PathBuf,
    reason: String,
}

impl KeyError {
    pub(crate) fn at(path: &Path, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }
}

/// Reads a file with a key.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, KeyError> {
    file::read(path, MAX_KEY).map_err(|error| KeyError::at(path, io_error(&error)))
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    point: Vec<u8>,
}

impl VerifyingKey {
    /// Returns the key with a point of P-256.
    pub(crate) fn new(point: &[u8]) -> Self {
        Self { point: point.to_vec() }
    }

    /// Reads a key in PEM, such as `cosign.pub`.
    ///
    /// # Errors
    ///
    /// [`KeyError`] for other files, and keys of other curves.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let expected = || KeyError::at(path, "expected a P-256 public key in PEM, such as cosign.pub");
        let der = SubjectPublicKeyInfoDer::from_pem_slice(&read(path)?).map_err(|_| expected())?;
        let point = der.strip_prefix(SPKI_P256.as_slice()).filter(|point| point.len() == 65);
        Ok(Self::new(point.ok_or_else(expected)?))
    }

    /// Returns whether `signature`, in base64, is this key's of `bytes`, as `cosign verify-blob` does.
    #[must_use]
    pub fn verifies_blob(&self, bytes: &[u8], signature: &str) -> bool {
        STANDARD.decode(signature.trim()).is_ok_and(|signature| self.verifies(bytes, &signature))
    }

    /// Returns whether `signature` is this key's of `payload`.
    pub(crate) fn verifies(&self, payload: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point).verify(payload, signature).is_ok()
    }
}

/// What a signature says, beside that it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The name under which the image was signed.
    pub reference: String,
    /// The signed document.
    pub payload: String,
}
