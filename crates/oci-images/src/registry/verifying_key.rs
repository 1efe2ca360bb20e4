//! Public keys, and what a signature says that one verifies.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

use super::file;
use super::keyless::{self, Identity};
use crate::plain::io_error;

/// Maximum size of a file with a key, in bytes.
const MAX_KEY: u64 = 64 << 10;
/// What precedes the point of a P-256 key in its SPKI form (RFC 5480).
const SPKI_P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A file with a key or with trusted roots cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to read {}: {reason}", .path.display())]
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
        keyless::hex(self.digest().as_ref())
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

/// What signatures are verified with.
#[derive(Debug, Clone)]
pub enum Verifier {
    /// A public key.
    Key(VerifyingKey),
    /// Whom the certificate of the key was issued to.
    Identity(Box<Identity>),
}

impl From<&VerifyingKey> for Verifier {
    fn from(key: &VerifyingKey) -> Self {
        Self::Key(key.clone())
    }
}

impl From<Identity> for Verifier {
    fn from(identity: Identity) -> Self {
        Self::Identity(Box::new(identity))
    }
}

impl From<&Verifier> for Verifier {
    fn from(verifier: &Verifier) -> Self {
        verifier.clone()
    }
}

/// Why a signature does not verify an image. The message continues the name of the image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Another key signed the image.
    #[error("is signed with another key")]
    OtherKey,
    /// The signature is valid, and about another image.
    #[error("has a signature of another image: {0}")]
    OtherImage(String),
    /// The signature names its key, but is not a signature of what it contains.
    #[error("has a signature that does not match what it signs: one of them was changed")]
    Tampered,
    /// A key is expected, and the signature has a certificate.
    #[error("is signed with a certificate, not with a key")]
    CertificateInsteadOfKey,
    /// An identity is expected, and the signature has no certificate.
    #[error("is signed with a key, not with a certificate")]
    KeyInsteadOfCertificate,
    /// The certificate cannot be used.
    #[error("has a signature with an invalid certificate: {0}")]
    Certificate(String),
    /// The certificate does not lead to a trusted root.
    #[error("has a signature whose certificate was not issued by a trusted root")]
    UntrustedIssuer,
    /// The trusted root that issued the certificate was not valid when the signature was made.
    #[error(
        "has a signature whose certificate was issued by a root that was not valid when the signature was made"
    )]
    AuthorityNotValid,
    /// The signature was made when its certificate was not valid.
    #[error("has a signature that was made when its certificate was expired, or not valid yet")]
    Expired,
    /// The certificate names someone else.
    #[error("is signed by another identity: {0}")]
    OtherIdentity(String),
    /// Another server vouched for the identity.
    #[error("is signed by an identity of another issuer: {0}")]
    OtherIssuer(String),
    /// Nothing proves when the signature was made.
    #[error("has a signature without the entry of a transparency log, which proves when it was made")]
    NotLogged,
    /// The log that recorded the signature does not date it, and neither does anything else.
    #[error("has a signature without a timestamp, so nothing proves when it was made")]
    NotTimestamped,
    /// No timestamp is valid.
    #[error("has a signature with an invalid timestamp: {0}")]
    Timestamp(String),
    /// The entry of the log does not prove anything.
    #[error("has a signature with an invalid entry of a transparency log: {0}")]
    Log(String),
    /// The format is not supported.
    #[error("has a signature in an unsupported format: {0}")]
    Unsupported(&'static str),
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
