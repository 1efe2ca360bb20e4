//! Authorities, logs and signatures for tests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    PublicKeyData as _, SanType, date_time_ymd,
};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};

use super::key_file::KeyError;
use super::keyless::Identity;
use super::promise::LogEntry;
use super::signed::Signed;
use super::trusted_root::SPKI_ED25519;
use crate::layout::{hex, sha256};

pub(super) const SUBJECT: &str = "release@example.com";
pub(super) const PROVIDER: &str = "https://accounts.example.com";

pub(super) fn sign(key: &KeyPair, bytes: &[u8]) -> Vec<u8> {
    let random = ring::rand::SystemRandom::new();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &key.serialize_der(), &random).unwrap();
    pair.sign(&random, bytes).unwrap().as_ref().to_vec()
}

pub(super) fn certificate_pem(certificate: &CertificateDer<'_>) -> String {
    let encoded = STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n")
}

/// Returns a signature of bytes without an envelope, whose certificate is issued by a root.
pub(super) fn signed<'a>(
    certificate: &'a CertificateDer<'a>,
    bytes: &'a [u8],
    signature: &'a [u8],
) -> Signed<'a> {
    Signed { certificate, chain: &[], bytes, payload: bytes, signature }
}

/// A certificate authority and a log.
pub(super) struct World {
    pub(super) authority: CertificateParams,
    pub(super) authority_key: KeyPair,
    pub(super) log_key: KeyPair,
    roots: tempfile::NamedTempFile,
    pub(super) trusted: Value,
    /// The id of the log in hexadecimal digits.
    pub(super) log: String,
}

impl World {
    pub(super) fn new() -> Self {
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
    pub(super) fn valid_for(&self, part: &str, range: Value) -> Result<Identity, KeyError> {
        let mut trusted = self.trusted.clone();
        *trusted.pointer_mut(part).unwrap() = range;
        let roots = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(roots.path(), trusted.to_string()).unwrap();
        Identity::read(SUBJECT, PROVIDER, roots.path())
    }

    pub(super) fn identity(&self, subject: &str, issuer: &str) -> Identity {
        Identity::read(subject, issuer, self.roots.path()).unwrap()
    }

    /// Returns a certificate that is valid in 2026, and its key.
    pub(super) fn certificate(&self) -> (CertificateDer<'static>, KeyPair) {
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
    pub(super) fn entry(
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
    pub(super) fn entry_of(&self, body: &Value, time: i64) -> LogEntry {
        let (body, log, index) = (STANDARD.encode(body.to_string()), self.log.clone(), 7);
        let promised =
            format!(r#"{{"body":"{body}","integratedTime":{time},"logID":"{log}","logIndex":{index}}}"#);
        LogEntry { body, time, index, log, promise: sign(&self.log_key, promised.as_bytes()) }
    }
}

pub(super) const IN_2026: i64 = 1_780_000_000;
pub(super) const IN_2028: i64 = 1_840_000_000;

/// A log that publishes its tree, and an authority for timestamps.
pub(super) struct Dated {
    pub(super) world: World,
    pub(super) log: ring::signature::Ed25519KeyPair,
    pub(super) authority: CertificateParams,
    pub(super) authority_key: KeyPair,
    /// The certificate with which it signs timestamps.
    pub(super) signer: CertificateDer<'static>,
    pub(super) signer_key: KeyPair,
}

impl Dated {
    pub(super) fn new() -> Self {
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
    pub(super) fn signer(
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
    pub(super) fn trusted(&self, with_signer: bool) -> Value {
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
    pub(super) fn entry(&self, body: &Value) -> Value {
        let hash = |parts: &[&[u8]]| -> Vec<u8> {
            ring::digest::digest(&ring::digest::SHA256, &parts.concat()).as_ref().to_vec()
        };
        let leaf = |bytes: &[u8]| hash(&[&[0], bytes]);
        let parent = |left: &[u8], right: &[u8]| hash(&[&[1], left, right]);
        let body = body.to_string();
        let (first, third) = (leaf(b"first"), leaf(b"third"));
        let root = parent(&parent(&first, &leaf(body.as_bytes())), &third);
        let checkpoint = format!("log.example.com/2026\n3\n{}\n", STANDARD.encode(root));
        let signature = STANDARD.encode([b"log2", self.log.sign(checkpoint.as_bytes()).as_ref()].concat());
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
    pub(super) fn timestamp(&self, signature: &[u8], time: &str, with_signer: bool) -> Vec<u8> {
        self.timestamp_with(signature, time, with_signer, [1, 1])
    }

    /// Returns a timestamp that has its content type and its digest this many times.
    pub(super) fn timestamp_with(
        &self,
        signature: &[u8],
        time: &str,
        with_signer: bool,
        [types, digests]: [usize; 2],
    ) -> Vec<u8> {
        let sha256_id: &[u8] = &der(0x30, &[&[0x06, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1]]);
        let token: &[u8] = &[0x06, 11, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 16, 1, 4];
        let hash = |bytes: &[u8]| der(4, &[ring::digest::digest(&ring::digest::SHA256, bytes).as_ref()]);
        let number = |number: u8| der(2, &[&[number]]);
        let imprint = der(0x30, &[sha256_id, &hash(signature)]);
        let content =
            der(0x30, &[&number(1), &[6, 2, 0x2a, 3], &imprint, &number(7), &der(0x18, &[time.as_bytes()])]);
        let attribute = |id: u8, value: &[u8]| {
            let id = [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, id];
            der(0x30, &[&id, &der(0x31, &[value])])
        };
        let attributes = [attribute(3, token).repeat(types), attribute(4, &hash(&content)).repeat(digests)];
        let attributes = attributes.concat();
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
pub(super) fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let [.., high, low] = content.len().to_be_bytes();
    [&[tag, 0x82, high, low], content.as_slice()].concat()
}

pub(super) fn identity_of(trusted: &Value) -> Identity {
    let roots = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(roots.path(), trusted.to_string()).unwrap();
    Identity::read(SUBJECT, PROVIDER, roots.path()).unwrap()
}

/// When the certificates of signers and authorities are valid, and when only those of authorities are.
pub(super) const VALID: &str = "20260601000000.25Z";
pub(super) const LATE: &str = "20270601000000Z";
