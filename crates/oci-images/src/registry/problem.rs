//! Why signatures do not verify an image.

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
