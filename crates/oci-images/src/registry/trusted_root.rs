//! The certificate authorities and the keys of transparency logs that are trusted. They are read from a file, so no server is contacted.
//!
//! Source: `protos/sigstore_trustroot.proto` of sigstore/protobuf-specs.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use serde::Deserialize;
use webpki::{EndEntityCert, KeyUsage};

use super::key_file::{self, KeyError};
use super::problem::Problem;
use super::protobuf_json::{Base64, Chain};
use super::verifying_key::VerifyingKey;
use crate::json::json_error;
use crate::layout::hex;

/// Maximum size of a file with trusted roots, in bytes.
const MAX_SIZE: u64 = 4 << 20;
/// Maximum number of authorities, of certificates of one, and of logs in it.
const MAX_ENTRIES: usize = 100;
const TOO_MANY: &str = "more than 100 authorities, certificates or logs";
/// What precedes the point of an Ed25519 key in its SPKI form (RFC 8410).
pub(super) const SPKI_ED25519: &[u8] =
    &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
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

/// Which certificates and logs are trusted.
#[derive(Debug, Clone, Default)]
pub(super) struct TrustedRoot {
    pub(super) authorities: Vec<Authority>,
    pub(super) logs: Vec<Log>,
    /// Who signs timestamps.
    pub(super) timestamp_authorities: Vec<Authority>,
}

/// A certificate authority.
#[derive(Debug, Clone)]
pub(super) struct Authority {
    root: CertificateDer<'static>,
    pub(super) intermediates: Vec<CertificateDer<'static>>,
    pub(super) period: Period,
}

/// A transparency log.
#[derive(Debug, Clone)]
pub(super) struct Log {
    /// Its id in hexadecimal digits.
    pub(super) id: String,
    pub(super) key: LogKey,
    pub(super) period: Period,
}

/// The key of a transparency log.
#[derive(Debug, Clone)]
pub(super) enum LogKey {
    P256(VerifyingKey),
    Ed25519(Vec<u8>),
}

impl LogKey {
    /// Returns the key in its SPKI form (RFC 5480, RFC 8410); `None` for other types of keys.
    fn from_spki(der: &[u8]) -> Option<Self> {
        let point = der.strip_prefix(SPKI_ED25519).filter(|point| point.len() == 32);
        let ed25519 = point.map(|point| Self::Ed25519(point.to_vec()));
        ed25519.or_else(|| VerifyingKey::from_spki(der).map(Self::P256))
    }

    pub(super) fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::P256(key) => key.verifies(bytes, signature),
            Self::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point).verify(bytes, signature).is_ok(),
        }
    }
}

/// When an authority or a log is trusted, in seconds since 1970; both ends are included.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Period {
    start: Option<i64>,
    end: Option<i64>,
}

impl Period {
    pub(super) fn contains(self, time: i64) -> bool {
        self.start.is_none_or(|start| start <= time) && self.end.is_none_or(|end| time <= end)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedRootFile {
    #[serde(default)]
    tlogs: Vec<TrustedLog>,
    #[serde(default)]
    certificate_authorities: Vec<TrustedAuthority>,
    #[serde(default)]
    timestamp_authorities: Vec<TrustedAuthority>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedLog {
    public_key: TrustedKey,
    log_id: LogId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedKey {
    raw_bytes: Base64,
    #[serde(default)]
    valid_for: TimeRange,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogId {
    key_id: Base64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedAuthority {
    cert_chain: Chain,
    #[serde(default)]
    valid_for: TimeRange,
}

/// Times in the format of RFC 3339.
#[derive(Default, Deserialize)]
struct TimeRange {
    start: Option<String>,
    end: Option<String>,
}

impl TrustedLog {
    /// Returns the log; `None` if its key has another type. Such logs cannot be verified: their entries are from an unknown log.
    fn log(&self) -> Result<Option<Log>, &'static str> {
        let Some(key) = LogKey::from_spki(&decode(&self.public_key.raw_bytes)?) else { return Ok(None) };
        let (id, period) = (hex(&decode(&self.log_id.key_id)?), self.public_key.valid_for.period()?);
        Ok(Some(Log { id, key, period }))
    }
}

impl TrustedAuthority {
    /// Returns the authority; `None` if it has no certificate.
    fn authority(&self) -> Result<Option<Authority>, &'static str> {
        let certificates = limited(&self.cert_chain.certificates)?;
        let mut intermediates = certificates
            .iter()
            .map(|certificate| decode(&certificate.raw_bytes).map(CertificateDer::from))
            .collect::<Result<Vec<_>, _>>()?;
        let period = self.valid_for.period()?;
        Ok(intermediates.pop().map(|root| Authority { root, intermediates, period }))
    }
}

impl TimeRange {
    fn period(&self) -> Result<Period, &'static str> {
        let seconds = |time: &Option<String>| {
            let parsed = time.as_deref().map(str::parse::<Timestamp>).transpose();
            parsed.map(|time| time.map(Timestamp::as_second)).map_err(|_| "invalid time in validFor")
        };
        Ok(Period { start: seconds(&self.start)?, end: seconds(&self.end)? })
    }
}

/// Rejects lists that are too long.
fn limited<T>(list: &[T]) -> Result<&[T], &'static str> {
    if list.len() <= MAX_ENTRIES { Ok(list) } else { Err(TOO_MANY) }
}

fn decode(bytes: &Base64) -> Result<Vec<u8>, &'static str> {
    bytes.decode().ok_or("invalid base64")
}

impl TrustedRoot {
    /// Reads a `trusted_root.json` of sigstore.
    ///
    /// # Errors
    ///
    /// [`KeyError`] for other files.
    pub(super) fn read(path: &Path) -> Result<Self, KeyError> {
        let bytes = key_file::read(path, MAX_SIZE)?;
        Self::parse(&bytes).map_err(|reason| KeyError::at(path, reason))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let expected = |reason: &str| format!("expected a trusted_root.json of sigstore: {reason}");
        let file: TrustedRootFile =
            serde_json::from_slice(bytes).map_err(|error| expected(&json_error(&error)))?;
        let found = Self::try_from(file).map_err(expected)?;
        if found.authorities.is_empty() {
            return Err("it contains no certificate authority".to_owned());
        }
        if found.logs.is_empty() {
            return Err("it contains no transparency log with a P-256 or Ed25519 key".to_owned());
        }
        Ok(found)
    }

    /// Returns a root with certificates of authorities, and keys of logs.
    pub(super) fn new(roots: Vec<CertificateDer<'static>>, keys: Vec<VerifyingKey>) -> Self {
        let period = Period::default();
        let authority = |root| Authority { root, intermediates: Vec::new(), period };
        let log = |key: VerifyingKey| Log { id: key.id(), key: LogKey::P256(key), period };
        Self {
            authorities: roots.into_iter().map(authority).collect(),
            logs: keys.into_iter().map(log).collect(),
            timestamp_authorities: Vec::new(),
        }
    }
}

impl TryFrom<TrustedRootFile> for TrustedRoot {
    type Error = &'static str;

    fn try_from(file: TrustedRootFile) -> Result<Self, &'static str> {
        let TrustedRootFile { tlogs, certificate_authorities, timestamp_authorities } = file;
        let authorities = |found: &[TrustedAuthority]| {
            let found = limited(found)?.iter();
            found.filter_map(|authority| authority.authority().transpose()).collect::<Result<_, _>>()
        };
        let logs = limited(&tlogs)?.iter().filter_map(|log| log.log().transpose());
        Ok(Self {
            authorities: authorities(&certificate_authorities)?,
            logs: logs.collect::<Result<_, _>>()?,
            timestamp_authorities: authorities(&timestamp_authorities)?,
        })
    }
}

/// Verifies that one of the authorities issued a certificate, which was valid at this time. Intermediate certificates must have the
/// extended key usage, too.
pub(super) fn issued_by_any(
    certificate: &EndEntityCert<'_>,
    chain: &[CertificateDer<'_>],
    authorities: &[&Authority],
    time: UnixTime,
    usage: &'static [u8],
) -> Result<(), Problem> {
    let mut found = Problem::UntrustedIssuer;
    for Authority { root, intermediates, .. } in authorities {
        let anchors = [webpki::anchor_from_trusted_cert(root)
            .map_err(|error| Problem::Certificate(format!("of a trusted root: {error}")))?];
        let intermediates: Vec<CertificateDer<'_>> = intermediates.iter().chain(chain).cloned().collect();
        let usage = KeyUsage::required(usage);
        let verified =
            certificate.verify_for_usage(&ALGORITHMS, &anchors, &intermediates, time, usage, None, None);
        match verified {
            Ok(_) => return Ok(()),
            Err(webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. }) => {
                found = Problem::Expired;
            }
            Err(webpki::Error::UnknownIssuer) => {}
            Err(error) if found == Problem::UntrustedIssuer => {
                found = Problem::Certificate(error.to_string());
            }
            Err(_) => {}
        }
    }
    Err(found)
}

/// Returns a time in seconds since 1970; `None` for times before.
pub(super) fn unix_time(seconds: i64) -> Option<UnixTime> {
    u64::try_from(seconds).ok().map(Duration::from_secs).map(UnixTime::since_unix_epoch)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const AUTHORITY: &str = r#"{"certChain":{"certificates":[{"rawBytes":"AAAA"}]}}"#;

    fn reason(text: &str) -> String {
        TrustedRoot::parse(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn other_files_are_not_trusted() {
        assert_eq!(reason("{}"), "it contains no certificate authority");
        let authorities = format!(r#"{{"certificateAuthorities":[{AUTHORITY}]}}"#);
        let expected = "it contains no transparency log with a P-256 or Ed25519 key";
        assert_eq!(reason(&authorities), expected);
    }

    #[test]
    fn roots_with_more_entries_than_are_used_are_rejected() {
        let key = STANDARD.encode([SPKI_ED25519, &[1; 32]].concat());
        let log = format!(r#"{{"publicKey":{{"rawBytes":"{key}"}},"logId":{{"keyId":"AAAA"}}}}"#);
        let root = |authorities: usize, certificates: usize, logs: usize, others: usize| {
            let list = |item: &str, count: usize| vec![item; count].join(",");
            let chain = list(r#"{"rawBytes":"AAAA"}"#, certificates);
            let authority = format!(r#"{{"certChain":{{"certificates":[{chain}]}}}}"#);
            let (authorities, others) = (list(&authority, authorities), list(AUTHORITY, others));
            let text = format!(
                r#"{{"certificateAuthorities":[{authorities}],"tlogs":[{}],"timestampAuthorities":[{others}]}}"#,
                list(&log, logs)
            );
            TrustedRoot::parse(text.as_bytes()).map(|root| (root.authorities.len(), root.logs.len()))
        };
        assert_eq!(root(100, 100, 100, 100), Ok((100, 100)));
        let expected =
            "expected a trusted_root.json of sigstore: more than 100 authorities, certificates or logs";
        for (authorities, certificates, logs, others) in [
            (101, 1, 1, 1),
            (1, 101, 1, 1),
            (1, 1, 101, 1),
            (1, 1, 1, 101),
            (90_000, 1, 1, 1),
            (1, 1, 40_000, 1),
        ] {
            let found = root(authorities, certificates, logs, others);
            assert_eq!(found, Err(expected.to_owned()), "{authorities} {certificates} {logs} {others}");
        }
    }

    #[test]
    fn malformed_roots_are_described_without_terms_of_the_parser() {
        let long = format!(r#"{{"tlogs":"{}"}}"#, "x".repeat(3 << 20));
        let deep = format!(r#"{{"tlogs":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        for (text, expected) in [
            ("", "invalid JSON at line 1, column 0"),
            ("5", "expected a map, found a number at line 1, column 1"),
            (&long, "expected a list, found a string at line 1, column 3145739"),
            (&deep, "expected a string, found a list at line 1, column 12"),
            (r#"{"tlogs":[5]}"#, "expected a map, found a number at line 1, column 11"),
            (r#"{"certificateAuthorities":[{}]}"#, "missing required field `certChain` at line 1, column 29"),
            (
                r#"{"certificateAuthorities":[{"certChain":{"certificates":[{"rawBytes":"!"}]}}]}"#,
                "invalid base64",
            ),
            (
                r#"{"certificateAuthorities":[{"certChain":{"certificates":[]},"validFor":{"end":"soon"}}]}"#,
                "invalid time in validFor",
            ),
        ] {
            let start: String = text.chars().take(40).collect();
            assert_eq!(
                reason(text),
                format!("expected a trusted_root.json of sigstore: {expected}"),
                "{start}"
            );
        }
    }
}
