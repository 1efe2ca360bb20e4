//! Signatures whose key is in a certificate that was issued for a moment ("keyless"): the certificate names who signed, and a log
//! or a timestamp proves when.
//!
//! The proof that the certificate is in a log of certificates (SCT) is not verified.
//!
//! Source: `docs/oid-info.md` of sigstore/fulcio; `pkg/cosign/verify.go` of sigstore/cosign.

use std::path::Path;

use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm};
use webpki::EndEntityCert;

use super::certificate_names::Names;
use super::inclusion::Included;
use super::key_file::KeyError;
use super::problem::Problem;
use super::promise::LogEntry;
use super::signed::Signed;
use super::timestamp;
use super::trusted_root::{TrustedRoot, issued_by_any, unix_time};
use super::verifying_key::VerifyingKey;

/// The extended key usage of certificates that sign code (RFC 5280).
const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
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
    trusted: TrustedRoot,
}

impl Identity {
    /// Returns who must have signed: `subject` is the email address or the URI in the certificate, `issuer` the URL of the server that
    /// vouched for it. The file `roots` is a `trusted_root.json` of sigstore.
    ///
    /// # Errors
    ///
    /// [`KeyError`] for other files.
    pub fn read(subject: &str, issuer: &str, roots: &Path) -> Result<Self, KeyError> {
        Ok(Self::trusting(subject, issuer, TrustedRoot::read(roots)?))
    }

    /// Returns who must have signed with a certificate of one of `roots`, as an entry of a log with one of `keys` records.
    pub(crate) fn new(
        subject: &str,
        issuer: &str,
        roots: Vec<CertificateDer<'static>>,
        keys: Vec<VerifyingKey>,
    ) -> Self {
        Self::trusting(subject, issuer, TrustedRoot::new(roots, keys))
    }

    fn trusting(subject: &str, issuer: &str, trusted: TrustedRoot) -> Self {
        Self { subject: subject.to_owned(), issuer: issuer.to_owned(), trusted }
    }

    /// Verifies that a signature was made with the key of its certificate, which was issued to this identity and was valid when the
    /// log recorded the signature.
    pub(crate) fn verify(&self, signed: &Signed<'_>, entry: Option<&LogEntry>) -> Result<(), Problem> {
        let entry = entry.ok_or(Problem::NotLogged)?;
        entry.verify(&self.trusted.logs, signed)?;
        self.verify_at(signed, entry.time)
    }

    /// Verifies the same as [`verify`](Self::verify) with an entry of a Rekor v2 log, which neither promises inclusion nor records a
    /// time: the entry is proved to be included, and a timestamp says when the signature was made.
    pub(crate) fn verify_included(
        &self,
        signed: &Signed<'_>,
        entry: &Included,
        timestamps: &[Vec<u8>],
    ) -> Result<(), Problem> {
        let problem = |reason: &str| Problem::Log(reason.to_owned());
        let logs = entry.verify(&self.trusted.logs, signed).map_err(problem)?;
        if timestamps.is_empty() {
            return Err(Problem::NotTimestamped);
        }
        // One is enough, as for sigstore's clients. The certificate has to be valid at all of those that are.
        let (mut times, mut failed) = (Vec::new(), None);
        for timestamp in timestamps.iter().take(MAX_TIMESTAMPS) {
            match timestamp::time_of(timestamp, signed.signature, &self.trusted.timestamp_authorities) {
                Ok(time) => times.push(time),
                Err(reason) => failed = failed.or(Some(reason)),
            }
        }
        if let (true, Some(reason)) = (times.is_empty(), failed) {
            return Err(Problem::Timestamp(reason.to_owned()));
        }
        for time in times {
            if !logs.iter().any(|log| log.period.contains(time)) {
                return Err(problem("the key of the log was not valid when the signature was made"));
            }
            self.verify_at(signed, time)?;
        }
        Ok(())
    }

    /// Verifies that a signature was made with the key of its certificate, which was issued to this identity and valid at this time.
    fn verify_at(&self, signed: &Signed<'_>, time: i64) -> Result<(), Problem> {
        let Signed { certificate, chain, bytes, signature, .. } = *signed;
        let parsed =
            EndEntityCert::try_from(certificate).map_err(|error| Problem::Certificate(error.to_string()))?;
        let now = unix_time(time).ok_or_else(|| Problem::Log("its time is negative".to_owned()))?;
        let (trusted, others): (Vec<_>, Vec<_>) =
            self.trusted.authorities.iter().partition(|authority| authority.period.contains(time));
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
            .any(|algorithm| parsed.verify_signature(*algorithm, bytes, signature).is_ok());
        if is_signed { Ok(()) } else { Err(Problem::Tampered) }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{ExtendedKeyUsagePurpose, KeyPair, PublicKeyData as _};
    use serde_json::{Value, json};

    use super::*;
    use crate::layout::hex;
    use crate::registry::sigstore_fixtures::{
        Dated, IN_2026, IN_2028, LATE, PROVIDER, SUBJECT, VALID, World, identity_of, sign, signed,
    };

    #[test]
    fn each_failure_has_its_own_reason() {
        let world = World::new();
        let (certificate, key) = world.certificate();
        let payload = b"payload";
        let signature = sign(&key, payload);
        let entry = world.entry(&certificate, payload, &signature, IN_2026);
        let own = world.identity(SUBJECT, PROVIDER);
        let verify = |identity: &Identity, payload: &[u8], entry: Option<&LogEntry>| {
            identity.verify(&signed(&certificate, payload, &signature), entry)
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
        let ended = world.entry(&certificate, payload, &signature, i64::MAX);
        assert_eq!(verify(&own, payload, Some(&ended)), Err(Problem::Expired));
        let negative = world.entry(&certificate, payload, &signature, i64::MIN);
        let expected = Err(Problem::Log("its time is negative".to_owned()));
        assert_eq!(verify(&own, payload, Some(&negative)), expected);
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
        let found = own.verify(&signed(&foreign, payload, &signature), Some(&entry));
        assert!(matches!(found, Err(Problem::UntrustedIssuer | Problem::Certificate(_))), "{found:?}");
        let unknown = LogEntry { log: hex(b"other"), ..entry };
        let found = own.verify(&signed(&foreign, payload, &signature), Some(&unknown));
        assert_eq!(found, Err(Problem::Log("the log is not trusted".to_owned())));
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
                (
                    json!({ "start": "2027-01-01T00:00:00Z", "end": "2020-01-01T00:00:00Z" }),
                    Err(problem.clone()),
                ),
            ] {
                let identity = world.valid_for(part, range.clone()).unwrap();
                let found = identity.verify(&signed(&certificate, payload, &signature), Some(&entry));
                assert_eq!(found, expected, "{part} {range}");
            }
            let error = world.valid_for(part, json!({ "end": "soon" })).unwrap_err().to_string();
            assert!(error.contains("invalid time in validFor"), "{error}");
        }
    }

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
            let signed = Signed {
                certificate: &certificate,
                chain: &[],
                bytes: signed,
                payload,
                signature: &signature,
            };
            identity.verify_included(&signed, &entry, timestamps)
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
        // Another key with the same id, before and after its own one.
        let stranger = Dated::new();
        let mut renewed = trusted.clone();
        let [own_log, other_log] = [&dated, &stranger].map(|dated| dated.trusted(true)["tlogs"][0].clone());
        for logs in [[&other_log, &own_log], [&own_log, &other_log]] {
            renewed["tlogs"] = json!(logs);
            assert_eq!(verify(&renewed, &entry, &now), Ok(()));
        }
        // Signatures of many witnesses before its own.
        let crowded = |witnesses: usize| {
            let mut crowded = entry.clone();
            let place = crowded.pointer_mut("/inclusionProof/checkpoint/envelope").unwrap();
            let witness = "\u{2014} witness.example.com AAAA\n".repeat(witnesses);
            *place = json!(place.as_str().unwrap().replace("\n\n", &format!("\n\n{witness}")));
            crowded
        };
        assert_eq!(verify(&trusted, &crowded(90), &now), Ok(()));
        assert_eq!(verify(&trusted, &crowded(100_000), &now), log("its checkpoint is not signed by the log"));
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
            identity.verify(&signed(&certificate, b"payload", &signature), Some(&entry))
        };
        assert_eq!(verify(log), Ok(()));
        let other = KeyPair::generate().unwrap().subject_public_key_info();
        let other = verify(VerifyingKey::from_spki(&other).unwrap());
        assert_eq!(other, Err(Problem::Log("the log is not trusted".to_owned())));
    }
}
