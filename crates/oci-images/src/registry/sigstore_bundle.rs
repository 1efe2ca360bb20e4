//! Signatures in sigstore bundles, which cosign 3 attaches as referrers: a statement that names the image, in an envelope with
//! signatures of it (DSSE).
//!
//! Source: `protos/sigstore_bundle.proto` of sigstore/protobuf-specs, `envelope.md` and `protocol.md` of secure-systems-lab/dsse.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::Digest;
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use serde_json::{Value, json};

use super::attach::Attachment;
use super::error::Error;
use super::inclusion::Included;
use super::keyless::Identity;
use super::problem::Problem;
use super::promise::LogEntry;
use super::protobuf_json::{Base64, Chain, RawBytes};
use super::signed::{MAX_CHAIN, Signed};
use super::signing_key::SigningKey;
use super::verifier::{Verified, Verifier};
use super::verifying_key::VerifyingKey;
use crate::layout::document;

/// What the types of artifacts that are bundles begin with; a version follows.
pub(crate) const ARTIFACT_TYPE: &str = "application/vnd.dev.sigstore.bundle";
/// The type of what is signed.
const STATEMENT_TYPE: &str = "application/vnd.in-toto+json";
/// The statement with which cosign signs an image. Others are attestations.
const SIGN_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// Maximum number of signatures of an envelope. Sigstore's bundles have one.
const MAX_SIGNATURES: usize = 10;
/// The media type of bundles that are written here.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    verification_material: Material,
    dsse_envelope: Option<Envelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    public_key: Option<PublicKey>,
    certificate: Option<RawBytes>,
    x509_certificate_chain: Option<Chain>,
    #[serde(default)]
    tlog_entries: Vec<Value>,
    #[serde(default)]
    timestamp_verification_data: Timestamps,
}

/// What timestamp authorities signed.
#[derive(Default, Deserialize)]
struct Timestamps {
    #[serde(default, rename = "rfc3161Timestamps")]
    signed: Vec<SignedTimestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedTimestamp {
    signed_timestamp: Base64,
}

#[derive(Deserialize)]
struct PublicKey {
    #[serde(default)]
    hint: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: Base64,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: Base64,
}

/// Returns the statement with which cosign signs an image.
pub(crate) fn signature_of(image: &Digest) -> Result<Vec<u8>, Error> {
    Ok(document(&json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "digest": { "sha256": image.digest() } }],
        "predicateType": SIGN_PREDICATE,
        "predicate": {},
    }))?)
}

/// Returns a bundle with a signed statement, as cosign 3 attaches it.
pub(crate) fn attachment(statement: &[u8], key: &SigningKey) -> Result<Attachment, Error> {
    let signature = key.sign(&authenticated(STATEMENT_TYPE, statement))?;
    let bundle = json!({
        "mediaType": MEDIA_TYPE,
        "verificationMaterial": { "publicKey": { "hint": key.public().hint() } },
        "dsseEnvelope": {
            "payload": STANDARD.encode(statement),
            "payloadType": STATEMENT_TYPE,
            "signatures": [{ "sig": STANDARD.encode(signature) }],
        },
    });
    let predicate = serde_json::from_slice::<Value>(statement).unwrap_or_default();
    let predicate = predicate["predicateType"].as_str().unwrap_or_default().to_owned();
    let annotations = [
        ("dev.sigstore.bundle.content", "dsse-envelope".to_owned()),
        ("dev.sigstore.bundle.predicateType", predicate),
    ];
    Ok(Attachment {
        media_type: MEDIA_TYPE.to_owned(),
        bytes: document(&bundle)?,
        annotations: annotations.map(|(name, value)| (name.to_owned(), value)).into(),
    })
}

/// Verifies a bundle; `None` if it is no signature of the image, but an attestation or about another image.
pub(crate) fn verify(
    bundle: &[u8],
    verifier: &Verifier,
    image: &Digest,
) -> Option<Result<Verified, Problem>> {
    const UNKNOWN: Problem = Problem::Unsupported("sigstore bundle of an unknown form");
    let Ok(Bundle { verification_material, dsse_envelope }) = serde_json::from_slice(bundle) else {
        return Some(Err(UNKNOWN));
    };
    let Some(Envelope { payload, payload_type, signatures }) = dsse_envelope else {
        return Some(Err(Problem::Unsupported("sigstore bundle without a DSSE envelope")));
    };
    let Some(payload) = payload.decode() else { return Some(Err(UNKNOWN)) };
    if payload_type != STATEMENT_TYPE {
        return None;
    }
    let statement = serde_json::from_slice::<Value>(&payload).ok()?;
    if statement["predicateType"] != SIGN_PREDICATE {
        return None;
    }
    let subjects = || statement["subject"].as_array().into_iter().flatten();
    let subject = subjects().find(|subject| subject["digest"]["sha256"] == image.digest());
    let signed = authenticated(&payload_type, &payload);
    if signatures.len() > MAX_SIGNATURES {
        return Some(Err(Problem::Unsupported("sigstore bundle with more than 10 signatures")));
    }
    let signatures = signatures.iter();
    let signatures: Vec<Vec<u8>> = signatures.filter_map(|EnvelopeSignature { sig }| sig.decode()).collect();
    let outcome = match verifier {
        Verifier::Key(key) => with_key(&verification_material, key, &signed, &signatures),
        Verifier::Identity(identity) => {
            with_identity(&verification_material, identity, &signed, &payload, &signatures)
        }
    };
    Some(outcome.and_then(|()| {
        let Some(subject) = subject else {
            let other = subjects().find_map(|subject| subject["digest"]["sha256"].as_str());
            let other = other.unwrap_or_default().chars().take(64).collect::<String>();
            return Err(Problem::OtherImage(format!("sha256:{other}")));
        };
        let reference = subject["name"].as_str().unwrap_or_default().to_owned();
        Ok(Verified { reference, payload: String::from_utf8(payload).map_err(|_| UNKNOWN)? })
    }))
}

fn with_key(
    material: &Material,
    key: &VerifyingKey,
    signed: &[u8],
    signatures: &[Vec<u8>],
) -> Result<(), Problem> {
    if signatures.iter().any(|signature| key.verifies(signed, signature)) {
        return Ok(());
    }
    Err(match &material.public_key {
        Some(PublicKey { hint }) if *hint == key.hint() => Problem::Tampered,
        Some(_) => Problem::OtherKey,
        None => Problem::CertificateInsteadOfKey,
    })
}

fn with_identity(
    material: &Material,
    identity: &Identity,
    signed: &[u8],
    payload: &[u8],
    signatures: &[Vec<u8>],
) -> Result<(), Problem> {
    let chain = material.x509_certificate_chain.iter().flat_map(|chain| &chain.certificates);
    let certificates: Vec<CertificateDer<'static>> = material
        .certificate
        .iter()
        .chain(chain)
        .take(MAX_CHAIN)
        .filter_map(|certificate| certificate.raw_bytes.decode().map(CertificateDer::from))
        .collect();
    let (certificate, chain) = certificates.split_first().ok_or(Problem::KeyInsteadOfCertificate)?;
    let signature = signatures.first().ok_or(Problem::Tampered)?;
    let signed = Signed { certificate, chain, bytes: signed, payload, signature };
    let entry = match material.tlog_entries.first() {
        // Only logs of version 1 promise to include an entry, and date it.
        Some(entry) if entry["inclusionPromise"].is_null() && !entry["inclusionProof"].is_null() => {
            let malformed = || Problem::Log("it is malformed".to_owned());
            let entry = Included::parse(entry).ok_or_else(malformed)?;
            let timestamps = material.timestamp_verification_data.signed.iter();
            let timestamps: Vec<Vec<u8>> =
                timestamps.map(|timestamp| timestamp.signed_timestamp.decode().unwrap_or_default()).collect();
            return identity.verify_included(&signed, &entry, &timestamps);
        }
        None if !material.timestamp_verification_data.signed.is_empty() => {
            return Err(Problem::Unsupported(
                "sigstore bundle with a signed timestamp instead of an entry of a transparency log",
            ));
        }
        entry => entry.and_then(LogEntry::parse),
    };
    identity.verify(&signed, entry.as_ref())
}

/// Returns the bytes that are signed: DSSE's pre-authentication encoding.
fn authenticated(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::sha256;
    use crate::registry::signing_key::tests::new_key;

    #[test]
    fn logs_and_timestamps_that_cannot_be_verified_are_named() {
        let root = rcgen::generate_simple_self_signed(Vec::new()).unwrap();
        let identity = Identity::new("a@example.com", "https://b.example.com", Vec::new(), Vec::new());
        let image = sha256(b"image");
        let signed = attachment(&signature_of(&image).unwrap(), &new_key()).unwrap().bytes;
        let problem = |entries: Value, timestamps: Value| {
            let mut bundle: Value = serde_json::from_slice(&signed).unwrap();
            bundle["verificationMaterial"] = json!({
                "certificate": { "rawBytes": STANDARD.encode(root.cert.der()) },
                "tlogEntries": entries,
                "timestampVerificationData": timestamps,
            });
            let verifier = Verifier::Identity(Box::new(identity.clone()));
            verify(bundle.to_string().as_bytes(), &verifier, &image).unwrap().unwrap_err()
        };
        let timestamps = json!({ "rfc3161Timestamps": [{ "signedTimestamp": "MAA=" }] });
        // As Rekor v2 writes it: no promise, and no time.
        let mut entry = json!({
            "logIndex": "7",
            "logId": { "keyId": "bG9n" },
            "kindVersion": { "kind": "dsse", "version": "0.0.2" },
            "inclusionProof": { "logIndex": "7", "treeSize": "8", "checkpoint": { "envelope": "log\n8\n" } },
            "canonicalizedBody": "e30=",
        });
        let log = |reason: &str| Problem::Log(reason.to_owned());
        assert_eq!(problem(json!([entry]), timestamps.clone()), log("the log is not trusted"));
        entry["inclusionProof"]["treeSize"] = json!(-8);
        assert_eq!(problem(json!([entry]), timestamps.clone()), log("it is malformed"));
        assert_eq!(
            problem(json!([]), timestamps),
            Problem::Unsupported(
                "sigstore bundle with a signed timestamp instead of an entry of a transparency log"
            )
        );
        assert_eq!(problem(json!([]), json!({})), Problem::NotLogged);
    }

    #[test]
    fn bundle_is_verified_for_its_image_and_key() {
        let (alice, bob) = (new_key(), new_key());
        let (image, other) = (sha256(b"image"), sha256(b"other"));
        let bundle = |statement: &[u8]| -> Value {
            serde_json::from_slice(&attachment(statement, &alice).unwrap().bytes).unwrap()
        };
        let signed = bundle(&signature_of(&image).unwrap());
        let outcome = |bundle: &Value, key: &SigningKey, image| {
            let found = verify(bundle.to_string().as_bytes(), &Verifier::Key(key.public()), image);
            found.map(|found| found.map(drop))
        };
        assert_eq!(outcome(&signed, &alice, &image), Some(Ok(())));
        assert_eq!(outcome(&signed, &bob, &image), Some(Err(Problem::OtherKey)));
        assert_eq!(outcome(&signed, &alice, &other), Some(Err(Problem::OtherImage(image.to_string()))));
        // Each signature costs a digest of all that is signed.
        let with_own_at = |place: usize| {
            let mut many = signed.clone();
            let mut signatures = vec![json!({ "sig": "AAAA" }); place];
            signatures.push(signed["dsseEnvelope"]["signatures"][0].clone());
            many["dsseEnvelope"]["signatures"] = signatures.into();
            many
        };
        assert_eq!(outcome(&with_own_at(MAX_SIGNATURES - 1), &alice, &image), Some(Ok(())));
        let too_many = Problem::Unsupported("sigstore bundle with more than 10 signatures");
        assert_eq!(outcome(&with_own_at(MAX_SIGNATURES), &alice, &image), Some(Err(too_many)));
        let attestation = json!({ "predicateType": "https://slsa.dev/provenance/v1" }).to_string();
        assert_eq!(outcome(&bundle(attestation.as_bytes()), &alice, &image), None);
        let mut tampered = signed.clone();
        tampered["dsseEnvelope"]["payload"] = STANDARD.encode(signature_of(&other).unwrap()).into();
        assert_eq!(outcome(&tampered, &alice, &other), Some(Err(Problem::Tampered)));
        let mut keyless = tampered;
        keyless["verificationMaterial"] = json!({ "certificate": { "rawBytes": "" } });
        assert_eq!(outcome(&keyless, &alice, &other), Some(Err(Problem::CertificateInsteadOfKey)));
        let mut changed = signed;
        changed["dsseEnvelope"]["payloadType"] = json!("text/plain");
        assert_eq!(outcome(&changed, &alice, &image), None);
    }
}
