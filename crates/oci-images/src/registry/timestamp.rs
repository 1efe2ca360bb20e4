//! Timestamps: an authority signs that something existed at a time.
//!
//! Source: RFC 3161 for timestamps, RFC 5652 for how they are signed.

use jiff::Timestamp;
use ring::digest::{self, Algorithm};
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use super::der::{Der, GENERALIZED_TIME, INTEGER, OBJECT, OCTET_STRING, SEQUENCE, SET, numbered};
use super::trusted_root::{ALGORITHMS, Authority, issued_by_any, unix_time};

/// Maximum number of certificates in a timestamp.
const MAX_CERTIFICATES: usize = 8;
/// The extended key usage of certificates that sign timestamps (RFC 3161).
const TIME_STAMPING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];
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

/// Returns the time at which a signature existed, which one of the authorities signed.
pub(super) fn time_of(
    timestamp: &[u8],
    signature: &[u8],
    authorities: &[Authority],
) -> Result<i64, &'static str> {
    let token = Token::parse(timestamp).ok_or("it is not an RFC 3161 timestamp")?;
    if !token.is_about(signature) {
        return Err("it is for another signature");
    }
    let now = unix_time(token.time).ok_or("its time is before 1970")?;
    let mut found = "its timestamp authority is not trusted";
    for authority in authorities {
        // Authorities may omit their certificate from timestamps, and trusted roots contain it then.
        let signers = authority.intermediates.iter().chain(&token.certificates);
        // The path of one certificate is searched: a registry may send many with the same key.
        let signer = signers
            .filter_map(|signer| EndEntityCert::try_from(signer).ok())
            .find(|signer| token.is_signed_by(signer));
        let is_issued = signer.is_some_and(|signer| {
            issued_by_any(&signer, &token.certificates, &[authority], now, TIME_STAMPING).is_ok()
        });
        match (is_issued, authority.period.contains(token.time)) {
            (true, true) => return Ok(token.time),
            (true, false) => found = "its authority was not valid at that time",
            (false, _) => {}
        }
    }
    Err(found)
}

/// A timestamp, which nobody has verified yet.
struct Token<'a> {
    /// When it was signed, in seconds since 1970.
    time: i64,
    /// Certificates of the authority, if it is not known from elsewhere.
    certificates: Vec<CertificateDer<'a>>,
    /// The digest of what existed at that time.
    imprint: (&'static Algorithm, &'a [u8]),
    /// The signed attributes, as they are signed.
    attributes: Vec<u8>,
    signature: &'a [u8],
}

impl<'a> Token<'a> {
    /// Parses the response of an authority; `None` if it is not a timestamp, or if its attributes are for other content.
    fn parse(response: &'a [u8]) -> Option<Self> {
        let mut response = Der(Der(response).value(SEQUENCE)?);
        let status = Der(response.value(SEQUENCE)?).value(INTEGER)?;
        let mut info = Der(response.value(SEQUENCE)?);
        // Granted, or granted with changes.
        if !matches!(status, [0 | 1]) || info.value(OBJECT)? != SIGNED_DATA {
            return None;
        }
        let mut data = Der(Der(info.value(numbered(0))?).value(SEQUENCE)?);
        data.value(INTEGER)?;
        data.value(SET)?;
        let mut enclosed = Der(data.value(SEQUENCE)?);
        if enclosed.value(OBJECT)? != TST_INFO {
            return None;
        }
        let content = Der(enclosed.value(numbered(0))?).value(OCTET_STRING)?;
        let mut certificates = Vec::new();
        let mut next = data.next()?;
        if next.0 == numbered(0) {
            let mut embedded = Der(next.1);
            while let Some(certificate) = embedded.encoded().filter(|_| certificates.len() < MAX_CERTIFICATES)
            {
                certificates.push(CertificateDer::from(certificate));
            }
            next = data.next()?;
        }
        // Lists of revoked certificates.
        if next.0 == numbered(1) {
            next = data.next()?;
        }
        let mut signer = Der(Der(next.1).value(SEQUENCE)?);
        signer.value(INTEGER)?;
        // Which certificate it is.
        signer.next()?;
        let algorithm = algorithm(signer.value(SEQUENCE)?)?;
        let mut attributes = signer.encoded()?.to_vec();
        if !are_about(Der(&attributes).value(numbered(0))?, content, algorithm)? {
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
    fn is_about(&self, bytes: &[u8]) -> bool {
        let (algorithm, imprint) = self.imprint;
        digest::digest(algorithm, bytes).as_ref() == imprint
    }

    /// Returns whether it is signed with the key of this certificate.
    fn is_signed_by(&self, signer: &EndEntityCert<'_>) -> bool {
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

/// Returns whether signed attributes contain the type and the digest of `content`, each once (RFC 5652, section 11).
fn are_about(attributes: &[u8], content: &[u8], algorithm: &'static Algorithm) -> Option<bool> {
    let mut attributes = Der(attributes);
    let (mut found_type, mut found_digest) = (None, None);
    while let Some((SEQUENCE, attribute)) = attributes.next() {
        let mut attribute = Der(attribute);
        let id = attribute.value(OBJECT)?;
        let mut values = Der(attribute.value(SET)?);
        match id {
            CONTENT_TYPE if found_type.is_none() => found_type = Some(values.value(OBJECT)?),
            MESSAGE_DIGEST if found_digest.is_none() => found_digest = Some(values.value(OCTET_STRING)?),
            CONTENT_TYPE | MESSAGE_DIGEST => return None,
            _ => {}
        }
    }
    Some(found_type? == TST_INFO && found_digest? == digest::digest(algorithm, content).as_ref())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::sigstore_fixtures::{Dated, VALID};

    #[test]
    fn timestamps_that_are_malformed_are_none() {
        let dated = Dated::new();
        let timestamp = dated.timestamp(b"signature", VALID, true);
        assert!(Token::parse(&timestamp).is_some_and(|token| token.is_about(b"signature")));
        for length in 0..timestamp.len() {
            assert!(Token::parse(&timestamp[..length]).is_none(), "{length}");
        }
        for times in [[0, 1], [1, 0], [2, 1], [1, 2], [1, 1_000]] {
            let timestamp = dated.timestamp_with(b"signature", VALID, true, times);
            assert!(Token::parse(&timestamp).is_none(), "{times:?}");
        }
        for time in
            ["", "2026", "20261301000000Z", "20260601000000", "2026060100000\u{e9}Z", "20260601000000.xZ"]
        {
            assert!(Token::parse(&dated.timestamp(b"signature", time, true)).is_none(), "{time}");
        }
    }
}
