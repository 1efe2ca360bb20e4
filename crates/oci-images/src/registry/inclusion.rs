//! Entries of transparency logs that publish their tree (Rekor v2): that an entry is included follows from the root of the tree,
//! which the log signs.
//!
//! Source: RFC 9162, section 2.1.3, for proofs; `tlog-checkpoint.md` and `signed-note.md` of C2SP for signed roots; `CLIENTS.md` of
//! sigstore/rekor-tiles and `protos/rekor/v2` of sigstore/protobuf-specs for entries.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use serde_json::Value;

use super::protobuf_json::{bytes, number};
use super::signed::Signed;
use super::trusted_root::{Log, LogKey};
use crate::layout::hex;

/// Maximum number of digests in a proof: the depth of the largest tree.
const MAX_DEPTH: usize = 64;
/// Maximum number of signatures of a root.
const MAX_SIGNATURES: usize = 100;
/// What the signatures of a root begin with.
const SIGNATURE: &str = "\u{2014} ";

/// An entry of a log, with the proof that it is included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Included {
    /// The id of the log.
    log: Vec<u8>,
    body: Vec<u8>,
    index: u64,
    /// The number of entries in the tree.
    size: u64,
    hashes: Vec<Vec<u8>>,
    /// The root of the tree with its signatures.
    checkpoint: String,
}

impl Included {
    /// Parses the entry of a sigstore bundle; `None` if it is malformed.
    pub(crate) fn parse(entry: &Value) -> Option<Self> {
        let proof = &entry["inclusionProof"];
        // A tree with one entry needs no proof.
        let hashes = match &proof["hashes"] {
            Value::Null => &[][..],
            hashes => hashes.as_array().filter(|hashes| hashes.len() <= MAX_DEPTH)?,
        };
        let hashes = hashes.iter().map(|hash| bytes(hash).filter(|hash| hash.len() == SHA256_OUTPUT_LEN));
        Some(Self {
            log: bytes(&entry["logId"]["keyId"])?,
            body: bytes(&entry["canonicalizedBody"])?,
            index: number(&proof["logIndex"])?,
            size: number(&proof["treeSize"])?,
            hashes: hashes.collect::<Option<_>>()?,
            checkpoint: proof["checkpoint"]["envelope"].as_str()?.to_owned(),
        })
    }

    /// Verifies that logs include the entry, and that it is about this signature. Returns these logs: an id may have several keys.
    pub(super) fn verify<'l>(
        &self,
        logs: &'l [Log],
        signed: &Signed<'_>,
    ) -> Result<Vec<&'l Log>, &'static str> {
        let id = hex(&self.log);
        let (mut signing, mut failed) = (Vec::new(), "the log is not trusted");
        for log in logs.iter().filter(|log| log.id == id) {
            match self.verify_tree(&log.key) {
                Ok(()) => signing.push(log),
                Err(reason) => failed = reason,
            }
        }
        if signing.is_empty() {
            return Err(failed);
        }
        self.verify_body(signed)?;
        Ok(signing)
    }

    /// Verifies that the log signed the root of a tree that includes the entry.
    fn verify_tree(&self, key: &LogKey) -> Result<(), &'static str> {
        const MALFORMED: &str = "its checkpoint is malformed";
        let (note, signatures) = self.checkpoint.split_once("\n\n").ok_or(MALFORMED)?;
        let note = format!("{note}\n");
        let mut lines = note.lines();
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(MALFORMED);
        };
        let root = STANDARD.decode(root).map_err(|_| MALFORMED)?;
        // The others are of witnesses, which nobody trusts here.
        let mut own = signatures.lines().take(MAX_SIGNATURES).filter_map(|line| {
            let (name, signature) = line.strip_prefix(SIGNATURE)?.split_once(' ')?;
            let signature = STANDARD.decode(signature).ok().filter(|_| name == origin)?;
            let (hint, signature) = signature.split_at_checked(4)?;
            self.log.starts_with(hint).then(|| signature.to_vec())
        });
        if origin.is_empty() || !own.any(|signature| key.verifies(note.as_bytes(), &signature)) {
            return Err("its checkpoint is not signed by the log");
        }
        if size.parse() != Ok(self.size) || self.root().is_none_or(|found| found != root) {
            return Err("the log does not include it");
        }
        Ok(())
    }

    /// Returns the root of the tree that follows from the entry and its proof; `None` if the proof is too short or too long.
    fn root(&self) -> Option<Vec<u8>> {
        let of = |prefix: u8, left: &[u8], right: &[u8]| {
            digest(&SHA256, &[&[prefix], left, right].concat()).as_ref().to_vec()
        };
        let (mut index, mut last) = (self.index, self.size.checked_sub(1)?);
        if index > last {
            return None;
        }
        let mut root = of(0, &self.body, &[]);
        for hash in &self.hashes {
            if last == 0 {
                return None;
            }
            if index % 2 == 1 || index == last {
                root = of(1, hash, &root);
                while index.is_multiple_of(2) && index != 0 {
                    (index, last) = (index / 2, last / 2);
                }
            } else {
                root = of(1, &root, hash);
            }
            (index, last) = (index / 2, last / 2);
        }
        (last == 0).then_some(root)
    }

    /// Verifies that the entry is about this signature.
    fn verify_body(&self, signed: &Signed<'_>) -> Result<(), &'static str> {
        let body: Value = serde_json::from_slice(&self.body).map_err(|_| "it is not JSON")?;
        let is_0_0_2 = body["apiVersion"] == "0.0.2";
        let (logged, found, hashed) = match body["kind"].as_str() {
            Some("hashedrekord") if is_0_0_2 => {
                let entry = &body["spec"]["hashedRekordV002"];
                (&entry["signature"], &entry["data"], signed.bytes)
            }
            Some("dsse") if is_0_0_2 => {
                let entry = &body["spec"]["dsseV002"];
                (&entry["signatures"][0], &entry["payloadHash"], signed.payload)
            }
            _ => return Err("unsupported Rekor v2 entry type or version"),
        };
        if found["algorithm"] != "SHA2_256" {
            return Err("unsupported digest algorithm");
        }
        let is = |value: &Value, expected: &[u8]| bytes(value).is_some_and(|found| found == expected);
        let is_about = is(&found["digest"], digest(&SHA256, hashed).as_ref())
            && is(&logged["content"], signed.signature)
            && is(&logged["verifier"]["x509Certificate"]["rawBytes"], signed.certificate);
        if is_about { Ok(()) } else { Err("it is for another signature") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(prefix: u8, parts: &[&[u8]]) -> Vec<u8> {
        digest(&SHA256, &[&[prefix], parts.concat().as_slice()].concat()).as_ref().to_vec()
    }

    /// Returns the root of a tree (RFC 9162, section 2.1.1).
    fn root(entries: &[Vec<u8>]) -> Vec<u8> {
        match entries {
            [entry] => node(0, &[entry]),
            entries => {
                let (left, right) = entries.split_at(entries.len().next_power_of_two() / 2);
                node(1, &[&root(left), &root(right)])
            }
        }
    }

    /// Returns the proof of one entry (RFC 9162, section 2.1.3.1).
    fn proof(index: usize, entries: &[Vec<u8>]) -> Vec<Vec<u8>> {
        if entries.len() == 1 {
            return Vec::new();
        }
        let (left, right) = entries.split_at(entries.len().next_power_of_two() / 2);
        let (mut hashes, other) = match index.checked_sub(left.len()) {
            None => (proof(index, left), right),
            Some(index) => (proof(index, right), left),
        };
        hashes.push(root(other));
        hashes
    }

    #[test]
    fn root_follows_from_each_entry_and_its_proof_only() {
        let entries: Vec<Vec<u8>> = (0..33_u8).map(|number| vec![number; 3]).collect();
        for size in 1..=entries.len() {
            let (tree, expected) = (&entries[..size], root(&entries[..size]));
            for index in 0..size {
                let mut included = Included {
                    log: Vec::new(),
                    body: tree[index].clone(),
                    index: index as u64,
                    size: size as u64,
                    hashes: proof(index, tree),
                    checkpoint: String::new(),
                };
                assert_eq!(included.root().as_ref(), Some(&expected), "{index} of {size}");
                included.hashes.push(vec![0; 32]);
                assert_ne!(included.root().as_ref(), Some(&expected), "{index} of {size}");
                included.hashes.pop();
                if included.hashes.pop().is_some() {
                    assert_ne!(included.root().as_ref(), Some(&expected), "{index} of {size}");
                }
            }
        }
    }

    #[test]
    fn malformed_entries_are_none() {
        let valid = serde_json::json!({
            "logId": { "keyId": "bG9n" },
            "inclusionProof": { "treeSize": "1", "checkpoint": { "envelope": "" } },
            "canonicalizedBody": "e30=",
        });
        assert_eq!(Included::parse(&valid).map(|entry| (entry.index, entry.size)), Some((0, 1)));
        for (at, value) in [
            ("/logId/keyId", Value::Null),
            ("/inclusionProof/treeSize", (-1).into()),
            ("/inclusionProof/treeSize", "18446744073709551616".into()),
            ("/inclusionProof/hashes", "x".into()),
            ("/inclusionProof/hashes", serde_json::json!(["AAAA"])),
            ("/inclusionProof/hashes", vec![STANDARD.encode([0; 32]); MAX_DEPTH + 1].into()),
            ("/canonicalizedBody", "!".into()),
            ("/inclusionProof/checkpoint", Value::Null),
        ] {
            let mut changed = valid.clone();
            changed["inclusionProof"]["hashes"] = serde_json::json!([]);
            *changed.pointer_mut(at).unwrap() = value;
            assert_eq!(Included::parse(&changed), None, "{at}");
        }
    }
}
