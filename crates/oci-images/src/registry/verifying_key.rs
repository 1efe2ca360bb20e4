//! Public keys, which verify signatures.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

use super::key_file::{self, KeyError, MAX_KEY};
use crate::layout::hex;

/// What precedes the point of a P-256 key in its SPKI form (RFC 5480).
const SPKI_P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

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
        let der = SubjectPublicKeyInfoDer::from_pem_slice(&key_file::read(path, MAX_KEY)?)
            .map_err(|_| expected())?;
        Self::from_spki(&der).ok_or_else(expected)
    }

    /// Returns the key in its SPKI form (RFC 5480); `None` for other types of keys.
    pub(crate) fn from_spki(der: &[u8]) -> Option<Self> {
        der.strip_prefix(SPKI_P256.as_slice()).filter(|point| point.len() == 65).map(Self::new)
    }

    /// Returns what sigstore bundles name the key by: the digest of its SPKI form in base64.
    pub(crate) fn hint(&self) -> String {
        STANDARD.encode(self.digest())
    }

    /// Returns what transparency logs are identified by: the digest of the key's SPKI form in hexadecimal digits.
    pub(crate) fn id(&self) -> String {
        hex(self.digest().as_ref())
    }

    fn digest(&self) -> ring::digest::Digest {
        let spki = [SPKI_P256.as_slice(), &self.point].concat();
        ring::digest::digest(&ring::digest::SHA256, &spki)
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
