//! Signatures whose key is in a certificate that was issued for a moment ("keyless"): the certificate names who signed, and a log
//! proves when. Nothing is asked of a server: the roots of certificates and the keys of logs are in a file.
//!
//! The proof that the certificate is in a log of certificates (SCT) is not verified.
//!
//! Source: `protos/sigstore_trustroot.proto` and `protos/sigstore_rekor.proto` of sigstore/protobuf-specs; `docs/oid-info.md` of
//! sigstore/fulcio; `pkg/cosign/verify.go` of sigstore/cosign.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use serde::Deserialize;
use serde_json::Value;
use webpki::{EndEntityCert, KeyUsage};

use super::file;
use super::verifying_key::{KeyError, Problem, VerifyingKey};
use crate::layout::sha256;
use crate::plain::io_error;

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
/// The algorithms of certificates and of signatures with their keys.
const CERTIFICATE_ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 4] = [
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P256_SHA384,
    webpki::ring::ECDSA_P384_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
];
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
    key: VerifyingKey,
    period: Period,
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
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedLog {
    public_key: LogKey,
    log_id: LogId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogKey {
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
        let bytes = file::read(roots, MAX_ROOTS).map_err(|failure| error(io_error(&failure)))?;
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
        let (mut authorities, mut logs) = (Vec::new(), Vec::new());
        for authority in found.certificate_authorities.into_iter().take(MAX_ENTRIES) {
            let mut intermediates = Vec::new();
            for RawBytes { raw_bytes } in authority.cert_chain.certificates.into_iter().take(MAX_ENTRIES) {
                intermediates.push(CertificateDer::from(decode(&raw_bytes)?));
            }
            let period = period(authority.valid_for)?;
            authorities.extend(intermediates.pop().map(|root| Authority { root, intermediates, period }));
        }
        for TrustedLog { public_key, log_id } in found.tlogs.into_iter().take(MAX_ENTRIES) {
            // Logs with keys of other types cannot be verified here: their entries are from an unknown log.
            if let Some(key) = VerifyingKey::from_spki(&decode(&public_key.raw_bytes)?) {
                let (id, period) = (hex(&decode(&log_id.key_id)?), period(public_key.valid_for)?);
                logs.push(Log { id, key, period });
            }
        }
        if authorities.is_empty() {
            return Err(error("it contains no certificate authority".to_owned()));
        }
        if logs.is_empty() {
            return Err(error("it contains no transparency log with a P-256 key".to_owned()));
        }
        let (subject, issuer) = (subject.to_owned(), issuer.to_owned());
        Ok(Self { subject, issuer, authorities, logs })
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
        let logs = keys.into_iter().map(|key| Log { id: key.id(), key, period }).collect();
        Self { subject: subject.to_owned(), issuer: issuer.to_owned(), authorities, logs }
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
        let parsed =
            EndEntityCert::try_from(certificate).map_err(|error| Problem::Certificate(error.to_string()))?;
        let entry = entry.ok_or(Problem::NotLogged)?;
        self.verify_entry(entry, certificate, hashed, signature)?;
        let seconds =
            u64::try_from(entry.time).map_err(|_| Problem::Log("its time is negative".to_owned()))?;
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let (trusted, others): (Vec<_>, Vec<_>) =
            self.authorities.iter().partition(|authority| authority.period.contains(entry.time));
        if let Err(problem) = issued_by_any(&parsed, chain, &trusted, time) {
            let is_other = issued_by_any(&parsed, chain, &others, time).is_ok();
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
            return Err(problem("it is about another signature"));
        }
        Ok(())
    }
}

/// Verifies that one of the authorities issued a certificate, which was valid at this time.
fn issued_by_any(
    certificate: &EndEntityCert<'_>,
    chain: &[CertificateDer<'_>],
    authorities: &[&Authority],
    time: UnixTime,
) -> Result<(), Problem> {
    let mut found = Problem::UntrustedIssuer;
    for Authority { root, intermediates, .. } in authorities {
        let anchors = [webpki::anchor_from_trusted_cert(root)
            .map_err(|error| Problem::Certificate(format!("of a trusted root: {error}")))?];
        let intermediates: Vec<CertificateDer<'_>> = intermediates.iter().chain(chain).cloned().collect();
        let usage = KeyUsage::required(CODE_SIGNING);
        let verified = certificate.verify_for_usage(
            &CERTIFICATE_ALGORITHMS,
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

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
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

/// Values in distinguished encoding (X.690), one after the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Returns the tag and the content of the next value.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, value))
    }

    /// Returns the content of the next value, which has this tag.
    fn value(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, value)| value)
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
            Err(Problem::Log("it is about another signature".to_owned()))
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
            assert_eq!(verify(&other), Err(Problem::Log("it is about another signature".to_owned())));
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
