//! What signatures are verified with, and what one says that is verified.

use super::keyless::Identity;
use super::verifying_key::VerifyingKey;

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

/// What a signature says, beside that it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The name under which the image was signed.
    pub reference: String,
    /// The signed document.
    pub payload: String,
}
