//! Signatures in sigstore bundles, which cosign 3 attaches as referrers: a statement that names the image, in an envelope with
//! signatures of it (DSSE).
//!
//! Source: `protos/sigstore_bundle.proto` of sigstore/protobuf-specs, `envelope.md` and `protocol.md` of secure-systems-lab/dsse.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::Digest;
use serde::Deserialize;
use serde_json::Value;

use super::verifying_key::{Verified, VerifyingKey};

/// What the types of artifacts that are bundles begin with; a version follows.
pub(crate) const ARTIFACT_TYPE: &str = "application/vnd.dev.sigstore.bundle";
/// The type of what is signed.
const STATEMENT_TYPE: &str = "application/vnd.in-toto+json";
/// The statement with which cosign signs an image. Others are attestations.
const SIGN_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    verification_material: Value,
    dsse_envelope: Option<Envelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

/// What a bundle is for an image and a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The image is signed with the key.
    Verified(Verified),
    /// The image is signed with another key.
    OtherKey,
    /// The image may be signed, in a form that is not supported.
    Unsupported(&'static str),
    /// It does not sign the image: it is an attestation, or about another image.
    NoSignature,
}

/// Verifies a bundle.
pub(crate) fn verify(bundle: &[u8], key: &VerifyingKey, image: &Digest) -> Outcome {
    let Ok(Bundle { verification_material, dsse_envelope }) = serde_json::from_slice(bundle) else {
        return Outcome::Unsupported("sigstore bundle of an unknown form");
    };
    let Some(Envelope { payload, payload_type, signatures }) = dsse_envelope else {
        return Outcome::Unsupported("sigstore bundle without a DSSE envelope");
    };
    let Ok(payload) = STANDARD.decode(payload) else {
        return Outcome::Unsupported("sigstore bundle of an unknown form");
    };
    if payload_type != STATEMENT_TYPE {
        return Outcome::NoSignature;
    }
    let Ok(statement) = serde_json::from_slice::<Value>(&payload) else { return Outcome::NoSignature };
    let mut subjects = statement["subject"].as_array().into_iter().flatten();
    let subject = subjects.find(|subject| subject["digest"]["sha256"] == image.digest());
    let Some(subject) = subject.filter(|_| statement["predicateType"] == SIGN_PREDICATE) else {
        return Outcome::NoSignature;
    };
    if verification_material.get("publicKey").is_none() {
        return Outcome::Unsupported("sigstore bundle with a certificate instead of a key");
    }
    let signed = authenticated(&payload_type, &payload);
    let is_signed = signatures.iter().any(|EnvelopeSignature { sig }| {
        STANDARD.decode(sig).is_ok_and(|signature| key.verifies(&signed, &signature))
    });
    if !is_signed {
        return Outcome::OtherKey;
    }
    let reference = subject["name"].as_str().unwrap_or_default().to_owned();
    match String::from_utf8(payload) {
        Ok(payload) => Outcome::Verified(Verified { reference, payload }),
        Err(_) => Outcome::NoSignature,
    }
}

/// Returns the bytes that are signed: DSSE's pre-authentication encoding.
fn authenticated(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::signature::SigningKey;
    use super::*;
    use crate::layout::sha256;

    fn key() -> SigningKey {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
        SigningKey::read(file.path(), "").unwrap()
    }

    fn bundle(key: &SigningKey, image: &Digest, predicate: &str, material: &str) -> Value {
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "name": "quay.io/a", "digest": { "sha256": image.digest() } }],
            "predicateType": predicate,
        });
        let payload = statement.to_string().into_bytes();
        let signature = key.sign(&authenticated(STATEMENT_TYPE, &payload)).unwrap();
        json!({
            "verificationMaterial": { material: {} },
            "dsseEnvelope": {
                "payload": STANDARD.encode(payload),
                "payloadType": STATEMENT_TYPE,
                "signatures": [{ "sig": STANDARD.encode(signature) }],
            },
        })
    }

    #[test]
    fn bundle_is_verified_for_its_image_and_key() {
        let (alice, bob) = (key(), key());
        let (image, other) = (sha256(b"image"), sha256(b"other"));
        let signed = bundle(&alice, &image, SIGN_PREDICATE, "publicKey");
        let outcome = |bundle: &Value, key: &SigningKey, image| {
            verify(bundle.to_string().as_bytes(), &key.public(), image)
        };
        assert!(
            matches!(outcome(&signed, &alice, &image), Outcome::Verified(found) if found.reference == "quay.io/a")
        );
        assert_eq!(outcome(&signed, &bob, &image), Outcome::OtherKey);
        assert_eq!(outcome(&signed, &alice, &other), Outcome::NoSignature);
        let attestation = bundle(&alice, &image, "https://slsa.dev/provenance/v1", "publicKey");
        assert_eq!(outcome(&attestation, &alice, &image), Outcome::NoSignature);
        let keyless = bundle(&alice, &image, SIGN_PREDICATE, "certificate");
        assert!(matches!(outcome(&keyless, &alice, &image), Outcome::Unsupported(_)));
        let mut changed = signed;
        changed["dsseEnvelope"]["payloadType"] = json!("text/plain");
        assert_eq!(outcome(&changed, &alice, &image), Outcome::NoSignature);
    }
}
