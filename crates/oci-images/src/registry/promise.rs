//! Entries of transparency logs that promise to include them, and that date them (Rekor v1).
//!
//! Source: `protos/sigstore_rekor.proto` of sigstore/protobuf-specs; `pkg/cosign/verify.go` of sigstore/cosign.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

use super::problem::Problem;
use super::protobuf_json::{bytes, number};
use super::signed::Signed;
use super::trusted_root::Log;
use crate::layout::{hex, sha256};

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

impl LogEntry {
    /// Parses the annotation of a signature in cosign's form.
    pub(crate) fn from_annotation(text: &str) -> Option<Self> {
        let entry: Value = serde_json::from_str(text).ok()?;
        let payload = &entry["Payload"];
        Some(Self {
            body: payload["body"].as_str()?.to_owned(),
            time: payload["integratedTime"].as_i64()?,
            index: payload["logIndex"].as_i64()?,
            log: payload["logID"].as_str()?.to_owned(),
            promise: bytes(&entry["SignedEntryTimestamp"])?,
        })
    }

    /// Parses the entry of a sigstore bundle; `None` if it is malformed.
    pub(crate) fn parse(entry: &Value) -> Option<Self> {
        Some(Self {
            body: entry["canonicalizedBody"].as_str()?.to_owned(),
            time: number(&entry["integratedTime"])?,
            index: number(&entry["logIndex"])?,
            log: hex(&bytes(&entry["logId"]["keyId"])?),
            promise: bytes(&entry["inclusionPromise"]["signedEntryTimestamp"])?,
        })
    }

    /// Verifies that one of `logs`, which was valid then, recorded this signature.
    pub(super) fn verify(&self, logs: &[Log], signed: &Signed<'_>) -> Result<(), Problem> {
        self.verify_promise(logs)?;
        self.verify_body(signed)
    }

    fn verify_promise(&self, logs: &[Log]) -> Result<(), Problem> {
        let Self { body, time, index, log, promise } = self;
        let known = logs.iter().filter(|known| known.id == *log);
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
        Ok(())
    }

    fn verify_body(&self, signed: &Signed<'_>) -> Result<(), Problem> {
        let body =
            STANDARD.decode(&self.body).ok().and_then(|body| serde_json::from_slice::<Value>(&body).ok());
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
                let logged = bytes(&signature["sig"]).and_then(|sig| String::from_utf8(sig).ok());
                (logged, &content["payloadHash"]["value"], &signature["publicKey"])
            }
            kind => {
                let kind = kind.unwrap_or_default().chars().take(20).collect::<String>();
                return Err(problem(&format!("unsupported type `{kind}`")));
            }
        };
        let is_certificate = bytes(key).is_some_and(|pem| {
            CertificateDer::from_pem_slice(&pem).is_ok_and(|logged| logged == *signed.certificate)
        });
        let is_signature = logged.is_some_and(|logged| logged == STANDARD.encode(signed.signature));
        if !is_signature || !is_certificate || *digest != sha256(signed.payload).digest() {
            return Err(problem("it is for another signature"));
        }
        Ok(())
    }
}

fn problem(reason: &str) -> Problem {
    Problem::Log(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::sigstore_fixtures::{
        IN_2026, PROVIDER, SUBJECT, World, certificate_pem, sign, signed,
    };

    #[test]
    fn first_entry_of_a_log_has_no_index() {
        let mut entry = json!({
            "logId": { "keyId": "bG9n" },
            "integratedTime": "1780000000",
            "inclusionPromise": { "signedEntryTimestamp": "MAA=" },
            "canonicalizedBody": "e30=",
        });
        assert_eq!(LogEntry::parse(&entry).map(|entry| (entry.index, entry.time)), Some((0, 1_780_000_000)));
        entry["logIndex"] = json!("7");
        assert_eq!(LogEntry::parse(&entry).map(|entry| entry.index), Some(7));
        entry["logIndex"] = json!("seven");
        assert_eq!(LogEntry::parse(&entry), None);
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
            own.verify(&signed(&certificate, payload, &signature), Some(&entry))
        };
        for (body, other) in bodies(&signature).into_iter().zip(bodies(&sign(&key, payload))) {
            assert_eq!(verify(&body), Ok(()), "{body}");
            assert_eq!(verify(&other), Err(Problem::Log("it is for another signature".to_owned())));
            let unknown = Problem::Log("unsupported type `intoto`".to_owned());
            assert_eq!(verify(&json!({ "apiVersion": "0.0.1", "kind": "intoto" })), Err(unknown));
        }
    }
}
