//! Timestamps: an authority signs that something existed at a time.
//!
//! Source: RFC 3161 for timestamps, RFC 5652 for how they are signed.

use jiff::Timestamp;
use ring::digest::{self, Algorithm};
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm};
use webpki::EndEntityCert;

use super::der::Der;

/// Maximum number of certificates in a timestamp.
const MAX_CERTIFICATES: usize = 8;
/// The types of what is signed, and of what is enclosed in it.
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];
/// The attributes that are signed.
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
/// The algorithms of digests.
const DIGESTS: [(&[u8], &Algorithm); 3] = [
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01], &digest::SHA256),
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02], &digest::SHA384),
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03], &digest::SHA512),
];
/// The algorithms with which authorities sign certificates and timestamps.
pub(super) const ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 7] = [
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P256_SHA384,
    webpki::ring::ECDSA_P384_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::RSA_PKCS1_2048_8192_SHA256,
    webpki::ring::RSA_PKCS1_2048_8192_SHA384,
    webpki::ring::RSA_PKCS1_2048_8192_SHA512,
];

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// Values with the numbers 0 and 1 of the structure that they are in.
const NUMBER_0: u8 = 0xa0;
const NUMBER_1: u8 = 0xa1;

/// A timestamp, which nobody has verified yet.
pub(super) struct Token<'a> {
    /// When it was signed, in seconds since 1970.
    pub(super) time: i64,
    /// Certificates of the authority, if it is not known from elsewhere.
    pub(super) certificates: Vec<CertificateDer<'a>>,
    /// The digest of what existed at that time.
    imprint: (&'static Algorithm, &'a [u8]),
    /// The signed attributes, as they are signed.
    attributes: Vec<u8>,
    signature: &'a [u8],
}

impl<'a> Token<'a> {
    /// Parses the response of an authority; `None` if it is not a timestamp, or if its attributes are for other content.
    pub(super) fn parse(response: &'a [u8]) -> Option<Self> {
        let mut response = Der(Der(response).value(SEQUENCE)?);
        let status = Der(response.value(SEQUENCE)?).value(INTEGER)?;
        let mut info = Der(response.value(SEQUENCE)?);
        // Granted, or granted with changes.
        if !matches!(status, [0 | 1]) || info.value(OBJECT)? != SIGNED_DATA {
            return None;
        }
        let mut data = Der(Der(info.value(NUMBER_0)?).value(SEQUENCE)?);
        data.value(INTEGER)?;
        data.value(SET)?;
        let mut enclosed = Der(data.value(SEQUENCE)?);
        if enclosed.value(OBJECT)? != TST_INFO {
            return None;
        }
        let content = Der(enclosed.value(NUMBER_0)?).value(OCTET_STRING)?;
        let mut certificates = Vec::new();
        let mut next = data.next()?;
        if next.0 == NUMBER_0 {
            let mut embedded = Der(next.1);
            while let Some(certificate) = embedded.encoded().filter(|_| certificates.len() < MAX_CERTIFICATES)
            {
                certificates.push(CertificateDer::from(certificate));
            }
            next = data.next()?;
        }
        // Lists of revoked certificates.
        if next.0 == NUMBER_1 {
            next = data.next()?;
        }
        let mut signer = Der(Der(next.1).value(SEQUENCE)?);
        signer.value(INTEGER)?;
        // Which certificate it is.
        signer.next()?;
        let algorithm = algorithm(signer.value(SEQUENCE)?)?;
        let mut attributes = signer.encoded()?.to_vec();
        if !are_about(Der(&attributes).value(NUMBER_0)?, content, algorithm)? {
            return None;
        }
        // They are signed as a set.
        *attributes.first_mut()? = SET;
        signer.value(SEQUENCE)?;
        let signature = signer.value(OCTET_STRING)?;
        let mut content = Der(Der(content).value(SEQUENCE)?);
        content.value(INTEGER)?;
        content.value(OBJECT)?;
        let mut imprint = Der(content.value(SEQUENCE)?);
        let imprint = (self::algorithm(imprint.value(SEQUENCE)?)?, imprint.value(OCTET_STRING)?);
        content.value(INTEGER)?;
        let time = seconds(content.value(GENERALIZED_TIME)?)?;
        Some(Self { time, certificates, imprint, attributes, signature })
    }

    /// Returns whether it says when `bytes` existed.
    pub(super) fn is_about(&self, bytes: &[u8]) -> bool {
        let (algorithm, imprint) = self.imprint;
        digest::digest(algorithm, bytes).as_ref() == imprint
    }

    /// Returns whether it is signed with the key of this certificate.
    pub(super) fn is_signed_by(&self, signer: &EndEntityCert<'_>) -> bool {
        let mut algorithms = ALGORITHMS.iter();
        algorithms
            .any(|algorithm| signer.verify_signature(*algorithm, &self.attributes, self.signature).is_ok())
    }
}

/// Returns the digest that an `AlgorithmIdentifier` names.
fn algorithm(identifier: &[u8]) -> Option<&'static Algorithm> {
    let id = Der(identifier).value(OBJECT)?;
    DIGESTS.iter().find(|(known, _)| *known == id).map(|(_, algorithm)| *algorithm)
}

/// Returns whether signed attributes contain the type and the digest of `content`.
fn are_about(attributes: &[u8], content: &[u8], algorithm: &'static Algorithm) -> Option<bool> {
    let mut attributes = Der(attributes);
    let (mut has_type, mut has_digest) = (false, false);
    while let Some((SEQUENCE, attribute)) = attributes.next() {
        let mut attribute = Der(attribute);
        let id = attribute.value(OBJECT)?;
        let mut values = Der(attribute.value(SET)?);
        match id {
            CONTENT_TYPE => has_type = values.value(OBJECT)? == TST_INFO,
            MESSAGE_DIGEST => {
                has_digest = values.value(OCTET_STRING)? == digest::digest(algorithm, content).as_ref();
            }
            _ => {}
        }
    }
    Some(has_type && has_digest)
}

/// Returns the time `YYYYMMDDhhmmss[.f]Z` in seconds since 1970.
fn seconds(time: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(time).ok()?.strip_suffix('Z')?;
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if text.len() != 14 || !are_digits(text) || !are_digits(fraction) {
        return None;
    }
    let (date, clock) = text.split_at(8);
    let rfc3339 = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &date[..4],
        &date[4..6],
        &date[6..],
        &clock[..2],
        &clock[2..4],
        &clock[4..]
    );
    rfc3339.parse::<Timestamp>().ok().map(Timestamp::as_second)
}
