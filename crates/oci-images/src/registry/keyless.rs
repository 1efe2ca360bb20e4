//! Signatures whose key is in a certificate that was issued for a moment ("keyless"): the certificate names who signed, and a log
//! or a timestamp proves when. Nothing is asked of a server: the roots of certificates and the keys of logs are in a file.
//!
//! The proof that the certificate is in a log of certificates (SCT) is not verified.
//!
//! Source: `protos/sigstore_trustroot.proto` and `protos/sigstore_rekor.proto` of sigstore/protobuf-specs; `docs/oid-info.md` of
//! sigstore/fulcio; `pkg/cosign/verify.go` of sigstore/cosign.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use serde::Deserialize;
use serde_json::Value;
use webpki::{EndEntityCert, KeyUsage};

use super::der::Der;
use super::inclusion::Included;
use super::key_file::{self, KeyError};
use super::problem::Problem;
use super::timestamp::{self, Token};
use super::verifying_key::VerifyingKey;
use crate::layout::{hex, sha256};

/// Maximum size of a file with trusted roots, in bytes.
const MAX_ROOTS: u64 = 4 << 20;
/// Maximum number of certificates and keys in it.
const MAX_ENTRIES: usize = 100;
/// The extended key usage of certificates that sign code (RFC 5280).
const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
/// The extension with alternative names (RFC 5280).
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// Fulcio's extension with the issuer of the identity token: as a string, and as bytes.
const ISSUER: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x08];
const OLD_ISSUER: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x01];
/// The extended key usage of certificates that sign timestamps (RFC 3161).
const TIME_STAMPING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];
/// What precedes the point of an Ed25519 key in its SPKI form (RFC 8410).
const SPKI_ED25519: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// Maximum number of certificates between one and its root.
pub(crate) const MAX_CHAIN: usize = 10;
/// Maximum number of timestamps of a signature.
const MAX_TIMESTAMPS: usize = 4;
/// The algorithms of signatures with the keys of certificates.
const SIGNATURE_ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 4] = [
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::ECDSA_P384_SHA256,
    webpki::ring::ED25519,
];

/// Who must have signed, and which certificates and logs are trusted.
#[derive(Debug, Clone)]
pub struct Identity {
    subject: String,
    issuer: String,
    authorities: Vec<Authority>,
    logs: Vec<Log>,
    /// Who signs timestamps.
    timestamp_authorities: Vec<Authority>,
}

/// A certificate authority.
#[derive(Debug, Clone)]
struct Authority {
    root: CertificateDer<'static>,
    intermediates: Vec<CertificateDer<'static>>,
    period: Period,
}

/// A transparency log.
#[derive(Debug, Clone)]
struct Log {
    /// Its id in hexadecimal digits.
    id: String,
    key: LogKey,
    period: Period,
}

/// The key of a transparency log.
#[derive(Debug, Clone)]
enum LogKey {
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

    fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::P256(key) => key.verifies(bytes, signature),
            Self::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point).verify(bytes, signature).is_ok(),
        }
    }
}

/// When an authority or a log is trusted, in seconds since 1970; both ends are included.
#[derive(Debug, Clone, Copy, Default)]
struct Period {
    start: Option<i64>,
    end: Option<i64>,
}

impl Period {
    fn contains(self, time: i64) -> bool {
        self.start.is_none_or(|start| start <= time) && self.end.is_none_or(|end| time <= end)
    }
}

/// An entry of a transparency log, with its promise to include it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogEntry {
    pub(crate) body: String,
    pub(crate) time: i64,
    pub(crate) index: i64,
    /// The id of the log in hexadecimal digits.
    pub(crate) log: String,
    pub(crate) promise: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedRoot {
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
    raw_bytes: String,
    #[serde(default)]
    valid_for: TimeRange,
}

/// Times in the format of RFC 3339.
#[derive(Default, Deserialize)]
struct TimeRange {
    start: Option<String>,
    end: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogId {
    key_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedAuthority {
    cert_chain: Chain,
    #[serde(default)]
    valid_for: TimeRange,
}

#[derive(Deserialize)]
struct Chain {
    certificates: Vec<RawBytes>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBytes {
    raw_bytes: String,
}

impl Identity {
    /// Returns who must have signed: `subject` is the email address or the URI in the certificate, `issuer` the URL of the server that
    /// vouched for it. The file `roots` is a `trusted_root.json` of sigstore.
    ///
    /// # Errors
    ///
    /// [`KeyError`] for other files.
    pub fn read(subject: &str, issuer: &str, roots: &Path) -> Result<Self, KeyError> {
        let error = |reason: String| KeyError::at(roots, reason);
        let bytes = key_file::read(roots, MAX_ROOTS)?;
        let expected = "expected a trusted_root.json of sigstore";
        let found: TrustedRoot =
            serde_json::from_slice(&bytes).map_err(|failure| error(format!("{expected}: {failure}")))?;
        let decode =
            |text: &str| STANDARD.decode(text).map_err(|_| error(format!("{expected}: invalid base64")));
        let time = |text: Option<String>| {
            let parse = |text: String| text.parse::<Timestamp>().map(Timestamp::as_second);
            let parsed = text.map(parse).transpose();
            parsed.map_err(|_| error(format!("{expected}: invalid time in validFor")))
        };
        let period =
            |TimeRange { start, end }| Ok::<_, KeyError>(Period { start: time(start)?, end: time(end)? });
        let authorities = |found: Vec<TrustedAuthority>| {
            let mut authorities = Vec::new();
            for authority in found.into_iter().take(MAX_ENTRIES) {
                let mut intermediates = Vec::new();
                for RawBytes { raw_bytes } in authority.cert_chain.certificates.into_iter().take(MAX_ENTRIES)
                {
                    intermediates.push(CertificateDer::from(decode(&raw_bytes)?));
                }
                let period = period(authority.valid_for)?;
                authorities.extend(intermediates.pop().map(|root| Authority { root, intermediates, period }));
            }
            Ok::<_, KeyError>(authorities)
        };
        let timestamp_authorities = authorities(found.timestamp_authorities)?;
        let authorities = authorities(found.certificate_authorities)?;
        let mut logs = Vec::new();
        for TrustedLog { public_key, log_id } in found.tlogs.into_iter().take(MAX_ENTRIES) {
            // Logs with keys of other types cannot be verified here: their entries are from an unknown log.
            if let Some(key) = LogKey::from_spki(&decode(&public_key.raw_bytes)?) {
                let (id, period) = (hex(&decode(&log_id.key_id)?), period(public_key.valid_for)?);
                logs.push(Log { id, key, period });
            }
        }
        if authorities.is_empty() {
            return Err(error("it contains no certificate authority".to_owned()));
        }
        if logs.is_empty() {
            return Err(error("it contains no transparency log with a P-256 or Ed25519 key".to_owned()));
        }
        let (subject, issuer) = (subject.to_owned(), issuer.to_owned());
        Ok(Self { subject, issuer, authorities, logs, timestamp_authorities })
    }

    /// Returns who must have signed with a certificate of one of `roots`, as an entry of a log with one of `keys` records.
    pub(crate) fn new(
        subject: &str,
        issuer: &str,
        roots: Vec<CertificateDer<'static>>,
        keys: Vec<VerifyingKey>,
    ) -> Self {
        let period = Period::default();
        let authority = |root| Authority { root, intermediates: Vec::new(), period };
        let authorities = roots.into_iter().map(authority).collect();
        let logs = keys.into_iter().map(|key| Log { id: key.id(), key: LogKey::P256(key), period });
        let (subject, issuer) = (subject.to_owned(), issuer.to_owned());
        Self { subject, issuer, authorities, logs: logs.collect(), timestamp_authorities: Vec::new() }
    }

    /// Verifies that `signature` of `signed` was made with the key of `certificate`, which was issued to this identity and was valid
    /// when the log recorded the signature. `hashed` is what the log recorded the digest of.
    pub(crate) fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        signed: &[u8],
        hashed: &[u8],
        signature: &[u8],
        entry: Option<&LogEntry>,
    ) -> Result<(), Problem> {
        let entry = entry.ok_or(Problem::NotLogged)?;
        self.verify_entry(entry, certificate, hashed, signature)?;
        self.verify_at(certificate, chain, signed, signature, entry.time)
    }

    /// Verifies the same as [`verify`](Self::verify) with an entry of a Rekor v2 log, which neither promises inclusion nor records a time: the entry is
    /// proved to be included, and a timestamp says when the signature was made.
    pub(crate) fn verify_included(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        signed: &[u8],
        payload: &[u8],
        signature: &[u8],
        (entry, timestamps): (&Included, &[Vec<u8>]),
    ) -> Result<(), Problem> {
        let problem = |reason: &str| Problem::Log(reason.to_owned());
        let id = hex(&entry.log);
        let (mut signing, mut failed) = (Vec::new(), "the log is not trusted");
        for log in self.logs.iter().filter(|log| log.id == id) {
            match entry.verify_tree(|bytes, signature| log.key.verifies(bytes, signature)) {
                Ok(()) => signing.push(log),
                Err(reason) => failed = reason,
            }
        }
        if signing.is_empty() {
            return Err(problem(failed));
        }
        entry.verify_body(certificate, signed, payload, signature).map_err(problem)?;
        if timestamps.is_empty() {
            return Err(Problem::NotTimestamped);
        }
        // One is enough, as for sigstore's clients. The certificate has to be valid at all of those that are.
        let (mut times, mut failed) = (Vec::new(), None);
        for timestamp in timestamps.iter().take(MAX_TIMESTAMPS) {
            match self.time_of(timestamp, signature) {
                Ok(time) => times.push(time),
                Err(reason) => failed = failed.or(Some(reason)),
            }
        }
        if let (true, Some(reason)) = (times.is_empty(), failed) {
            return Err(Problem::Timestamp(reason.to_owned()));
        }
        for time in times {
            if !signing.iter().any(|log| log.period.contains(time)) {
                return Err(problem("the key of the log was not valid when the signature was made"));
            }
            self.verify_at(certificate, chain, signed, signature, time)?;
        }
        Ok(())
    }

    /// Returns the time that a trusted authority signed for a signature.
    fn time_of(&self, timestamp: &[u8], signature: &[u8]) -> Result<i64, &'static str> {
        let token = Token::parse(timestamp).ok_or("it is not an RFC 3161 timestamp")?;
        if !token.is_about(signature) {
            return Err("it is for another signature");
        }
        let time = u64::try_from(token.time).map_err(|_| "its time is before 1970")?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(time));
        let mut found = "its timestamp authority is not trusted";
        for authority in &self.timestamp_authorities {
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

    /// Verifies that `signature` of `signed` was made with the key of `certificate`, which was issued to this identity and valid at
    /// this time.
    fn verify_at(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        signed: &[u8],
        signature: &[u8],
        time: i64,
    ) -> Result<(), Problem> {
        let parsed =
            EndEntityCert::try_from(certificate).map_err(|error| Problem::Certificate(error.to_string()))?;
        let seconds = u64::try_from(time).map_err(|_| Problem::Log("its time is negative".to_owned()))?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let (trusted, others): (Vec<_>, Vec<_>) =
            self.authorities.iter().partition(|authority| authority.period.contains(time));
        if let Err(problem) = issued_by_any(&parsed, chain, &trusted, now, CODE_SIGNING) {
            let is_other = issued_by_any(&parsed, chain, &others, now, CODE_SIGNING).is_ok();
            return Err(if is_other { Problem::AuthorityNotValid } else { problem });
        }
        let names = Names::parse(certificate)
            .ok_or_else(|| Problem::Certificate("its extensions cannot be read".to_owned()))?;
        if !names.subjects.contains(&self.subject) {
            return Err(Problem::OtherIdentity(names.subjects.join(", ")));
        }
        if names.issuer.as_ref() != Some(&self.issuer) {
            return Err(Problem::OtherIssuer(names.issuer.unwrap_or_default()));
        }
        let is_signed = SIGNATURE_ALGORITHMS
            .iter()
            .any(|algorithm| parsed.verify_signature(*algorithm, signed, signature).is_ok());
        if is_signed { Ok(()) } else { Err(Problem::Tampered) }
    }

    /// Verifies that a trusted log recorded this signature.
    fn verify_entry(
        &self,
        entry: &LogEntry,
        certificate: &CertificateDer<'_>,
        hashed: &[u8],
        signature: &[u8],
    ) -> Result<(), Problem> {
        let LogEntry { body, time, index, log, promise } = entry;
        let problem = |reason: &str| Problem::Log(reason.to_owned());
        let known = self.logs.iter().filter(|known| known.id == *log);
        if known.clone().next().is_none() {
            return Err(problem("the log is not trusted"));
        }
        // As RFC 8785 sorts the keys. Neither value has characters that it escapes.
        let promised =
            format!(r#"{{"body":"{body}","integratedTime":{time},"logID":"{log}","logIndex":{index}}}"#);
        let mut signing = known.filter(|known| known.key.verifies(promised.as_bytes(), promise)).peekable();
        if signing.peek().is_none() {
            return Err(problem("it is not signed by the log"));
        }
        if !signing.any(|known| known.period.contains(*time)) {
            return Err(problem("the key of the log was not valid when the signature was made"));
        }
        let body = STANDARD.decode(body).ok().and_then(|body| serde_json::from_slice::<Value>(&body).ok());
        let body = body.ok_or_else(|| problem("it is not JSON"))?;
        let spec = &body["spec"];
        let (logged, digest, key) = match body["kind"].as_str() {
            Some("hashedrekord") => {
                let signature = &spec["signature"];
                (
                    signature["content"].as_str().map(str::to_owned),
                    &spec["data"]["hash"]["value"],
                    &signature["publicKey"]["content"],
                )
            }
            Some("dsse") => {
                let signature = &spec["signatures"][0];
                let logged = signature["signature"].as_str().map(str::to_owned);
                (logged, &spec["payloadHash"]["value"], &signature["verifier"])
            }
            Some("intoto") if body["apiVersion"] == "0.0.2" => {
                let content = &spec["content"];
                let signature = &content["envelope"]["signatures"][0];
                // Encoded twice.
                let logged = signature["sig"].as_str().and_then(|sig| STANDARD.decode(sig).ok());
                let logged = logged.and_then(|sig| String::from_utf8(sig).ok());
                (logged, &content["payloadHash"]["value"], &signature["publicKey"])
            }
            kind => {
                let kind = kind.unwrap_or_default().chars().take(20).collect::<String>();
                return Err(problem(&format!("unsupported type `{kind}`")));
            }
        };
        let pem = key.as_str().and_then(|key| STANDARD.decode(key).ok());
        let is_certificate = pem.is_some_and(|pem| {
            CertificateDer::from_pem_slice(&pem).is_ok_and(|logged| logged == *certificate)
        });
        let is_signature = logged.is_some_and(|logged| logged == STANDARD.encode(signature));
        if !is_signature || !is_certificate || *digest != sha256(hashed).digest() {
            return Err(problem("it is for another signature"));
        }
        Ok(())
    }
}

/// Verifies that one of the authorities issued a certificate, which was valid at this time. Intermediate certificates must have the
/// extended key usage, too.
fn issued_by_any(
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
        let verified = certificate.verify_for_usage(
            &timestamp::ALGORITHMS,
            &anchors,
            &intermediates,
            time,
            usage,
            None,
            None,
        );
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

/// Whom a certificate was issued to, and who vouched for them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    subjects: Vec<String>,
    issuer: Option<String>,
}

impl Names {
    /// Reads the extensions of a certificate.
    fn parse(certificate: &[u8]) -> Option<Self> {
        let mut outer = Der(certificate);
        let mut outer = Der(outer.value(0x30)?);
        let mut fields = Der(outer.value(0x30)?);
        let mut names = Self::default();
        while let Some((tag, value)) = fields.next() {
            if tag != 0xa3 {
                continue;
            }
            let mut extensions = Der(Der(value).value(0x30)?);
            while let Some((0x30, extension)) = extensions.next() {
                let mut extension = Der(extension);
                let id = extension.value(0x06)?;
                let mut value = extension.next()?;
                // Whether it is critical.
                if value.0 == 0x01 {
                    value = extension.next()?;
                }
                let value = value.1;
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
                match id {
                    SUBJECT_ALT_NAME => {
                        let mut alternatives = Der(Der(value).value(0x30)?);
                        while let Some((tag, name)) = alternatives.next() {
                            // An email address or a URI.
                            if matches!(tag, 0x81 | 0x86) {
                                names.subjects.extend(text(name));
                            }
                        }
                    }
                    ISSUER => names.issuer = text(Der(value).value(0x0c)?),
                    OLD_ISSUER if names.issuer.is_none() => names.issuer = text(value),
                    _ => {}
                }
            }
        }
        Some(names)
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
        PublicKeyData as _, SanType, date_time_ymd,
    };
    use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
    use serde_json::json;

    use super::*;

    const SUBJECT: &str = "release@example.com";
    const PROVIDER: &str = "https://accounts.example.com";

    fn sign(key: &KeyPair, bytes: &[u8]) -> Vec<u8> {
        let random = ring::rand::SystemRandom::new();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &key.serialize_der(), &random).unwrap();
        pair.sign(&random, bytes).unwrap().as_ref().to_vec()
    }

    fn certificate_pem(certificate: &CertificateDer<'_>) -> String {
        let encoded = STANDARD.encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n")
    }

    /// A certificate authority and a log.
    struct World {
        authority: CertificateParams,
        authority_key: KeyPair,
        log_key: KeyPair,
        roots: tempfile::NamedTempFile,
        trusted: Value,
        /// The id of the log in hexadecimal digits.
        log: String,
    }

    impl World {
        fn new() -> Self {
            let (authority_key, log_key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
            let mut authority = CertificateParams::new(Vec::new()).unwrap();
            authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let root = authority.self_signed(&authority_key).unwrap();
            let trusted = json!({
                "tlogs": [{
                    "publicKey": {
                        "rawBytes": STANDARD.encode(log_key.subject_public_key_info()),
                        "validFor": {},
                    },
                    "logId": { "keyId": STANDARD.encode("log") },
                }],
                "certificateAuthorities": [{
                    "certChain": { "certificates": [{ "rawBytes": STANDARD.encode(root.der()) }] },
                    "validFor": {},
                }],
            });
            let roots = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(roots.path(), trusted.to_string()).unwrap();
            Self { authority, authority_key, log_key, roots, trusted, log: hex(b"log") }
        }

        /// Returns the identity when the log, or the authority, is trusted only in this time.
        fn valid_for(&self, part: &str, range: Value) -> Result<Identity, KeyError> {
            let mut trusted = self.trusted.clone();
            *trusted.pointer_mut(part).unwrap() = range;
            let roots = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(roots.path(), trusted.to_string()).unwrap();
            Identity::read(SUBJECT, PROVIDER, roots.path())
        }

        fn identity(&self, subject: &str, issuer: &str) -> Identity {
            Identity::read(subject, issuer, self.roots.path()).unwrap()
        }

        /// Returns a certificate that is valid in 2026, and its key.
        fn certificate(&self) -> (CertificateDer<'static>, KeyPair) {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.subject_alt_names = vec![SanType::Rfc822Name(SUBJECT.try_into().unwrap())];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
            (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2027, 1, 1));
            let length = u8::try_from(PROVIDER.len()).unwrap();
            let provider = [&[0x0c, length], PROVIDER.as_bytes()].concat();
            let extension = CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 57264, 1, 8], provider);
            params.custom_extensions = vec![extension];
            let key = KeyPair::generate().unwrap();
            let issuer = Issuer::new(self.authority.clone(), &self.authority_key);
            (params.signed_by(&key, &issuer).unwrap().der().clone(), key)
        }

        /// Returns the entry of a signature at a time.
        fn entry(
            &self,
            certificate: &CertificateDer<'_>,
            signed: &[u8],
            signature: &[u8],
            time: i64,
        ) -> LogEntry {
            let pem = certificate_pem(certificate);
            let body = json!({
                "kind": "hashedrekord",
                "spec": {
                    "signature": {
                        "content": STANDARD.encode(signature),
                        "publicKey": { "content": STANDARD.encode(pem) },
                    },
                    "data": { "hash": { "value": sha256(signed).digest() } },
                },
            });
            self.entry_of(&body, time)
        }

        /// Returns an entry with this body.
        fn entry_of(&self, body: &Value, time: i64) -> LogEntry {
            let (body, log, index) = (STANDARD.encode(body.to_string()), self.log.clone(), 7);
            let promised =
                format!(r#"{{"body":"{body}","integratedTime":{time},"logID":"{log}","logIndex":{index}}}"#);
            LogEntry { body, time, index, log, promise: sign(&self.log_key, promised.as_bytes()) }
        }
    }

    const IN_2026: i64 = 1_780_000_000;
    const IN_2028: i64 = 1_840_000_000;

    #[test]
    fn each_failure_has_its_own_reason() {
        let world = World::new();
        let (certificate, key) = world.certificate();
        let payload = b"payload";
        let signature = sign(&key, payload);
        let entry = world.entry(&certificate, payload, &signature, IN_2026);
        let own = world.identity(SUBJECT, PROVIDER);
        let verify = |identity: &Identity, payload: &[u8], entry: Option<&LogEntry>| {
            identity.verify(&certificate, &[], payload, payload, &signature, entry)
        };
        assert_eq!(verify(&own, payload, Some(&entry)), Ok(()));
        assert_eq!(verify(&own, payload, None), Err(Problem::NotLogged));
        assert_eq!(
            verify(&world.identity("eve@example.com", PROVIDER), payload, Some(&entry)),
            Err(Problem::OtherIdentity(SUBJECT.to_owned()))
        );
        assert_eq!(
            verify(&world.identity(SUBJECT, "https://evil.example.com"), payload, Some(&entry)),
            Err(Problem::OtherIssuer(PROVIDER.to_owned()))
        );
        let late = world.entry(&certificate, payload, &signature, IN_2028);
        assert_eq!(verify(&own, payload, Some(&late)), Err(Problem::Expired));
        let backdated = LogEntry { time: IN_2026, ..late };
        assert_eq!(
            verify(&own, payload, Some(&backdated)),
            Err(Problem::Log("it is not signed by the log".to_owned()))
        );
        assert_eq!(
            verify(&own, b"changed", Some(&entry)),
            Err(Problem::Log("it is for another signature".to_owned()))
        );
        let changed = world.entry(&certificate, b"changed", &signature, IN_2026);
        assert_eq!(verify(&own, b"changed", Some(&changed)), Err(Problem::Tampered));
        // Another authority with the same log.
        let mut other = World::new();
        other.log_key = KeyPair::from_pem(&world.log_key.serialize_pem()).unwrap();
        let (foreign, foreign_key) = other.certificate();
        let signature = sign(&foreign_key, payload);
        let entry = other.entry(&foreign, payload, &signature, IN_2026);
        let found = own.verify(&foreign, &[], payload, payload, &signature, Some(&entry));
        assert!(matches!(found, Err(Problem::UntrustedIssuer | Problem::Certificate(_))), "{found:?}");
        let unknown = LogEntry { log: hex(b"other"), ..entry };
        let found = own.verify(&foreign, &[], payload, payload, &signature, Some(&unknown));
        assert_eq!(found, Err(Problem::Log("the log is not trusted".to_owned())));
    }

    #[test]
    fn entries_of_each_type_are_about_the_signature_that_they_record() {
        let world = World::new();
        let (certificate, key) = world.certificate();
        let payload = b"payload";
        let signature = sign(&key, payload);
        let own = world.identity(SUBJECT, PROVIDER);
        let pem = STANDARD.encode(certificate_pem(&certificate));
        let hash = json!({ "algorithm": "sha256", "value": sha256(payload).digest() });
        let bodies = |signature: &[u8]| {
            let encoded = STANDARD.encode(signature);
            let dsse =
                json!({ "signatures": [{ "signature": encoded, "verifier": pem }], "payloadHash": hash });
            let twice = STANDARD.encode(&encoded);
            let envelope = json!({ "signatures": [{ "sig": twice, "publicKey": pem }] });
            let intoto = json!({ "content": { "envelope": envelope, "payloadHash": hash } });
            [
                json!({ "apiVersion": "0.0.1", "kind": "dsse", "spec": dsse }),
                json!({ "apiVersion": "0.0.2", "kind": "intoto", "spec": intoto }),
            ]
        };
        let verify = |body: &Value| {
            let entry = world.entry_of(body, IN_2026);
            own.verify(&certificate, &[], payload, payload, &signature, Some(&entry))
        };
        for (body, other) in bodies(&signature).into_iter().zip(bodies(&sign(&key, payload))) {
            assert_eq!(verify(&body), Ok(()), "{body}");
            assert_eq!(verify(&other), Err(Problem::Log("it is for another signature".to_owned())));
            let unknown = Problem::Log("unsupported type `intoto`".to_owned());
            assert_eq!(verify(&json!({ "apiVersion": "0.0.1", "kind": "intoto" })), Err(unknown));
        }
    }

    #[test]
    fn authority_and_log_are_trusted_only_while_they_are_valid() {
        let world = World::new();
        let (certificate, key) = world.certificate();
        let payload = b"payload";
        let signature = sign(&key, payload);
        let entry = world.entry(&certificate, payload, &signature, IN_2026);
        let log = Problem::Log("the key of the log was not valid when the signature was made".to_owned());
        for (part, problem) in [
            ("/tlogs/0/publicKey/validFor", log),
            ("/certificateAuthorities/0/validFor", Problem::AuthorityNotValid),
        ] {
            for (range, expected) in [
                (json!({ "start": "2020-01-01T00:00:00.000Z" }), Ok(())),
                (json!({ "start": "2020-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z" }), Ok(())),
                (json!({ "end": "2025-01-01T00:00:00Z" }), Err(problem.clone())),
                (json!({ "start": "2027-01-01T00:00:00Z" }), Err(problem.clone())),
            ] {
                let identity = world.valid_for(part, range.clone()).unwrap();
                let found = identity.verify(&certificate, &[], payload, payload, &signature, Some(&entry));
                assert_eq!(found, expected, "{part} {range}");
            }
            let error = world.valid_for(part, json!({ "end": "soon" })).unwrap_err().to_string();
            assert!(error.contains("invalid time in validFor"), "{error}");
        }
    }

    /// A log that publishes its tree, and an authority for timestamps.
    struct Dated {
        world: World,
        log: ring::signature::Ed25519KeyPair,
        authority: CertificateParams,
        authority_key: KeyPair,
        /// The certificate with which it signs timestamps.
        signer: CertificateDer<'static>,
        signer_key: KeyPair,
    }

    impl Dated {
        fn new() -> Self {
            let random = ring::rand::SystemRandom::new();
            let log = ring::signature::Ed25519KeyPair::generate_pkcs8(&random).unwrap();
            let log = ring::signature::Ed25519KeyPair::from_pkcs8(log.as_ref()).unwrap();
            let (authority_key, signer_key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
            let mut authority = CertificateParams::new(Vec::new()).unwrap();
            authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let signer =
                Self::signer(ExtendedKeyUsagePurpose::TimeStamping, &authority, &authority_key, &signer_key);
            Self { world: World::new(), log, authority, authority_key, signer, signer_key }
        }

        /// Returns a certificate that is valid until the end of 2027.
        fn signer(
            usage: ExtendedKeyUsagePurpose,
            authority: &CertificateParams,
            authority_key: &KeyPair,
            key: &KeyPair,
        ) -> CertificateDer<'static> {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.extended_key_usages = vec![usage];
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2028, 1, 1));
            let issuer = Issuer::new(authority.clone(), authority_key);
            params.signed_by(key, &issuer).unwrap().der().clone()
        }

        /// Returns the trusted roots, with the certificate for timestamps or without.
        fn trusted(&self, with_signer: bool) -> Value {
            let root = self.authority.self_signed(&self.authority_key).unwrap();
            let certificates = [self.signer.as_ref(), root.der().as_ref()];
            let certificates = certificates[usize::from(!with_signer)..].iter();
            let key = ring::signature::KeyPair::public_key(&self.log);
            let mut trusted = self.world.trusted.clone();
            trusted["tlogs"] = json!([{
                "publicKey": {
                    "rawBytes": STANDARD.encode([SPKI_ED25519, key.as_ref()].concat()),
                    "validFor": {},
                },
                "logId": { "keyId": STANDARD.encode("log2") },
            }]);
            let certificates: Vec<_> =
                certificates.map(|certificate| json!({ "rawBytes": STANDARD.encode(certificate) })).collect();
            trusted["timestampAuthorities"] =
                json!([{ "certChain": { "certificates": certificates }, "validFor": {} }]);
            trusted
        }

        /// Returns the entry of a signature, which is the second of three in the log.
        fn entry(&self, body: &Value) -> Value {
            let hash = |parts: &[&[u8]]| -> Vec<u8> {
                ring::digest::digest(&ring::digest::SHA256, &parts.concat()).as_ref().to_vec()
            };
            let leaf = |bytes: &[u8]| hash(&[&[0], bytes]);
            let parent = |left: &[u8], right: &[u8]| hash(&[&[1], left, right]);
            let body = body.to_string();
            let (first, third) = (leaf(b"first"), leaf(b"third"));
            let root = parent(&parent(&first, &leaf(body.as_bytes())), &third);
            let checkpoint = format!("log.example.com/2026\n3\n{}\n", STANDARD.encode(root));
            let signature =
                STANDARD.encode([b"log2", self.log.sign(checkpoint.as_bytes()).as_ref()].concat());
            let witness = STANDARD.encode([0; 68]);
            let envelope = format!(
                "{checkpoint}\n\u{2014} witness.example.com {witness}\n\u{2014} log.example.com/2026 {signature}\n"
            );
            json!({
                "logIndex": "1",
                "logId": { "keyId": STANDARD.encode("log2") },
                "kindVersion": { "kind": "hashedrekord", "version": "0.0.2" },
                "inclusionProof": {
                    "logIndex": "1",
                    "treeSize": "3",
                    "hashes": [STANDARD.encode(first), STANDARD.encode(third)],
                    "checkpoint": { "envelope": envelope },
                },
                "canonicalizedBody": STANDARD.encode(body),
            })
        }

        /// Returns a timestamp of a signature, with the certificate of its authority or without.
        fn timestamp(&self, signature: &[u8], time: &str, with_signer: bool) -> Vec<u8> {
            let sha256_id: &[u8] = &der(0x30, &[&[0x06, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1]]);
            let token: &[u8] = &[0x06, 11, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 16, 1, 4];
            let hash = |bytes: &[u8]| der(4, &[ring::digest::digest(&ring::digest::SHA256, bytes).as_ref()]);
            let number = |number: u8| der(2, &[&[number]]);
            let imprint = der(0x30, &[sha256_id, &hash(signature)]);
            let content = der(
                0x30,
                &[&number(1), &[6, 2, 0x2a, 3], &imprint, &number(7), &der(0x18, &[time.as_bytes()])],
            );
            let attribute = |id: u8, value: &[u8]| {
                let id = [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, id];
                der(0x30, &[&id, &der(0x31, &[value])])
            };
            let attributes = [attribute(3, token), attribute(4, &hash(&content))].concat();
            let signature = sign(&self.signer_key, &der(0x31, &[&attributes]));
            let signer = der(
                0x30,
                &[
                    &number(1),
                    &der(0x30, &[]),
                    sha256_id,
                    &der(0xa0, &[&attributes]),
                    &der(0x30, &[]),
                    &der(4, &[&signature]),
                ],
            );
            let enclosed = der(0x30, &[token, &der(0xa0, &[&der(4, &[&content])])]);
            let certificates = if with_signer { der(0xa0, &[&self.signer]) } else { Vec::new() };
            let data =
                der(0x30, &[&number(3), &der(0x31, &[]), &enclosed, &certificates, &der(0x31, &[&signer])]);
            let signed_data = [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 2];
            der(0x30, &[&der(0x30, &[&number(0)]), &der(0x30, &[&signed_data, &der(0xa0, &[&data])])])
        }
    }

    /// Returns a value in distinguished encoding.
    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let [.., high, low] = content.len().to_be_bytes();
        [&[tag, 0x82, high, low], content.as_slice()].concat()
    }

    fn identity_of(trusted: &Value) -> Identity {
        let roots = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(roots.path(), trusted.to_string()).unwrap();
        Identity::read(SUBJECT, PROVIDER, roots.path()).unwrap()
    }

    /// When the certificates of signers and authorities are valid, and when only those of authorities are.
    const VALID: &str = "20260601000000.25Z";
    const LATE: &str = "20270601000000Z";

    #[test]
    fn included_entries_prove_a_signature_with_a_timestamp() {
        let dated = Dated::new();
        let (certificate, key) = dated.world.certificate();
        let (signed, payload) = (b"DSSEv1 payload", b"payload");
        let signature = sign(&key, signed);
        let other = sign(&key, b"other");
        let hash = |bytes: &[u8]| STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, bytes));
        let verifier = json!({
            "keyDetails": "PKIX_ECDSA_P256_SHA_256",
            "x509Certificate": { "rawBytes": STANDARD.encode(&certificate) },
        });
        let logged =
            |signature: &[u8]| json!({ "content": STANDARD.encode(signature), "verifier": verifier });
        let hashed = |signature: &[u8], signed: &[u8]| {
            let data = json!({ "algorithm": "SHA2_256", "digest": hash(signed) });
            let entry = json!({ "data": data, "signature": logged(signature) });
            json!({ "apiVersion": "0.0.2", "kind": "hashedrekord", "spec": { "hashedRekordV002": entry } })
        };
        let dsse = |signature: &[u8], payload: &[u8]| {
            let hash = json!({ "algorithm": "SHA2_256", "digest": hash(payload) });
            let entry = json!({ "payloadHash": hash, "signatures": [logged(signature)] });
            json!({ "apiVersion": "0.0.2", "kind": "dsse", "spec": { "dsseV002": entry } })
        };
        let verify = |trusted: &Value, entry: &Value, timestamps: &[Vec<u8>]| {
            let entry = Included::parse(entry).unwrap();
            let identity = identity_of(trusted);
            identity.verify_included(&certificate, &[], signed, payload, &signature, (&entry, timestamps))
        };
        let trusted = dated.trusted(true);
        let entry = dated.entry(&hashed(&signature, signed));
        let now = [dated.timestamp(&signature, VALID, false)];
        assert_eq!(verify(&trusted, &entry, &now), Ok(()));
        assert_eq!(verify(&trusted, &dated.entry(&dsse(&signature, payload)), &now), Ok(()));
        let embedded = [dated.timestamp(&signature, VALID, true)];
        assert_eq!(verify(&dated.trusted(false), &entry, &embedded), Ok(()));

        // Entries of another signature, of something else, and of an unknown version.
        let log = |reason: &str| Err(Problem::Log(reason.to_owned()));
        for body in [
            hashed(&other, signed),
            hashed(&signature, b"other"),
            dsse(&other, payload),
            dsse(&signature, b"other"),
        ] {
            let found = verify(&trusted, &dated.entry(&body), &now);
            assert_eq!(found, log("it is for another signature"), "{body}");
        }
        let unknown = json!({ "apiVersion": "0.0.3", "kind": "dsse" });
        let found = verify(&trusted, &dated.entry(&unknown), &now);
        assert_eq!(found, log("unsupported Rekor v2 entry type or version"));
        // What the log did not sign.
        for (at, value, reason) in [
            ("/inclusionProof/logIndex", json!("0"), "the log does not include it"),
            ("/inclusionProof/logIndex", json!("3"), "the log does not include it"),
            ("/inclusionProof/treeSize", json!("4"), "the log does not include it"),
            ("/inclusionProof/hashes", json!([]), "the log does not include it"),
            ("/canonicalizedBody", json!("e30="), "the log does not include it"),
            ("/inclusionProof/checkpoint/envelope", json!("log\n"), "its checkpoint is malformed"),
            ("/logId/keyId", json!("b3RoZXI="), "the log is not trusted"),
        ] {
            let mut changed = entry.clone();
            *changed.pointer_mut(at).unwrap() = value;
            assert_eq!(verify(&trusted, &changed, &now), log(reason), "{at}");
        }
        let mut stranger = Dated::new();
        std::mem::swap(&mut stranger.world, &mut Dated::new().world);
        let forged = stranger.entry(&hashed(&signature, signed));
        assert_eq!(verify(&trusted, &forged, &now), log("its checkpoint is not signed by the log"));

        // Timestamps.
        assert_eq!(verify(&trusted, &entry, &[]), Err(Problem::NotTimestamped));
        let failed = |reason: &str| Err(Problem::Timestamp(reason.to_owned()));
        let of_other = dated.timestamp(&other, VALID, false);
        let mut tampered = now[0].clone();
        let place = tampered.windows(4).position(|window| window == b"2026").unwrap();
        tampered[place + 3] = b'5';
        let untrusted = stranger.timestamp(&signature, VALID, true);
        for (timestamp, reason) in [
            (of_other, "it is for another signature"),
            (tampered, "it is not an RFC 3161 timestamp"),
            (b"other".to_vec(), "it is not an RFC 3161 timestamp"),
            (untrusted, "its timestamp authority is not trusted"),
        ] {
            assert_eq!(
                verify(&trusted, &entry, std::slice::from_ref(&timestamp)),
                failed(reason),
                "{reason}"
            );
            // Another one is enough.
            assert_eq!(verify(&trusted, &entry, &[timestamp, now[0].clone()]), Ok(()), "{reason}");
        }
        let late = dated.timestamp(&signature, LATE, false);
        assert_eq!(verify(&trusted, &entry, &[late]), Err(Problem::Expired));
        let expired = dated.timestamp(&signature, "20290101000000Z", false);
        assert_eq!(verify(&trusted, &entry, &[expired]), failed("its timestamp authority is not trusted"));
        for (part, expected) in [
            ("/timestampAuthorities/0/validFor", failed("its authority was not valid at that time")),
            (
                "/tlogs/0/publicKey/validFor",
                log("the key of the log was not valid when the signature was made"),
            ),
            ("/certificateAuthorities/0/validFor", Err(Problem::AuthorityNotValid)),
        ] {
            let mut trusted = trusted.clone();
            *trusted.pointer_mut(part).unwrap() = json!({ "end": "2026-01-01T00:00:00Z" });
            assert_eq!(verify(&trusted, &entry, &now), expected, "{part}");
        }
        // A certificate of the authority for something else.
        let mut other_usage = Dated::new();
        other_usage.signer = Dated::signer(
            ExtendedKeyUsagePurpose::CodeSigning,
            &other_usage.authority,
            &other_usage.authority_key,
            &other_usage.signer_key,
        );
        let mut trusted = other_usage.trusted(true);
        trusted["tlogs"] = dated.trusted(true)["tlogs"].clone();
        trusted["certificateAuthorities"] = dated.world.trusted["certificateAuthorities"].clone();
        let found = verify(&trusted, &entry, &[other_usage.timestamp(&signature, VALID, false)]);
        assert_eq!(found, failed("its timestamp authority is not trusted"));
    }

    #[test]
    fn timestamps_that_are_cut_off_are_none() {
        let dated = Dated::new();
        let timestamp = dated.timestamp(b"signature", VALID, true);
        assert!(Token::parse(&timestamp).is_some_and(|token| token.is_about(b"signature")));
        for length in 0..timestamp.len() {
            assert!(Token::parse(&timestamp[..length]).is_none(), "{length}");
        }
        for time in
            ["", "2026", "20261301000000Z", "20260601000000", "2026060100000\u{e9}Z", "20260601000000.xZ"]
        {
            assert!(Token::parse(&dated.timestamp(b"signature", time, true)).is_none(), "{time}");
        }
    }

    #[test]
    fn policy_names_the_log_by_its_key() {
        let mut world = World::new();
        let (certificate, key) = world.certificate();
        let signature = sign(&key, b"payload");
        let root = world.authority.self_signed(&world.authority_key).unwrap().der().clone();
        let log = VerifyingKey::from_spki(&world.log_key.subject_public_key_info()).unwrap();
        world.log = log.id();
        assert_eq!(
            world.log,
            hex(ring::digest::digest(&ring::digest::SHA256, &world.log_key.subject_public_key_info())
                .as_ref())
        );
        let entry = world.entry(&certificate, b"payload", &signature, IN_2026);
        let verify = |log: VerifyingKey| {
            let identity = Identity::new(SUBJECT, PROVIDER, vec![root.clone()], vec![log]);
            identity.verify(&certificate, &[], b"payload", b"payload", &signature, Some(&entry))
        };
        assert_eq!(verify(log), Ok(()));
        let other = KeyPair::generate().unwrap().subject_public_key_info();
        let other = verify(VerifyingKey::from_spki(&other).unwrap());
        assert_eq!(other, Err(Problem::Log("the log is not trusted".to_owned())));
    }

    #[test]
    fn certificates_that_are_cut_off_have_no_names() {
        let (certificate, _) = World::new().certificate();
        let names = Names::parse(&certificate).unwrap();
        assert_eq!(names.subjects, [SUBJECT]);
        assert_eq!(names.issuer.as_deref(), Some(PROVIDER));
        for length in 0..certificate.len() {
            assert_eq!(Names::parse(&certificate[..length]), None, "{length}");
        }
    }

    #[test]
    fn other_files_are_not_trusted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, expected) in [
            ("", "trusted_root.json"),
            ("{}", "no certificate authority"),
            (r#"{"certificateAuthorities":[{"certChain":{"certificates":[{"rawBytes":"!"}]}}]}"#, "base64"),
            (
                r#"{"certificateAuthorities":[{"certChain":{"certificates":[{"rawBytes":"AAAA"}]}}]}"#,
                "no transparency log",
            ),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let error = Identity::read("a", "b", file.path()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
