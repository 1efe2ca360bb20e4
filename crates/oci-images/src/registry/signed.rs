//! A signature whose key is in a certificate, with what it signs.

use rustls::pki_types::CertificateDer;

/// Maximum number of certificates between one and its root.
pub(crate) const MAX_CHAIN: usize = 10;

/// A signature whose key is in a certificate. It is not verified yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signed<'a> {
    /// The certificate of the key.
    pub(crate) certificate: &'a CertificateDer<'a>,
    /// The certificates that it leads to.
    pub(crate) chain: &'a [CertificateDer<'a>],
    /// What is signed.
    pub(crate) bytes: &'a [u8],
    /// The document in it: the payload of a DSSE envelope, and the same bytes without an envelope.
    pub(crate) payload: &'a [u8],
    pub(crate) signature: &'a [u8],
}
