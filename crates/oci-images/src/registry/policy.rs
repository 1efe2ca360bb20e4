//! Policies of containers: which signatures an image needs before it is copied.
//!
//! Signatures are those that cosign attaches to images in registries. An index is verified by its own signature, which covers the
//! images that it lists.
//!
//! Source: containers-policy.json(5), and `signature/policy_eval.go`, `policy_reference_match.go` and
//! `docker/policyconfiguration/naming.go` of containers/image.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::Digest;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::client::Repository;
use super::error::Error;
use super::file;
use super::key_file::{self, KeyError};
use super::keyless::Identity;
use super::verifier::{Verified, Verifier};
use super::verifying_key::VerifyingKey;
use crate::json::json_error;
use crate::plain::io_error;
use crate::reference::Reference;

/// Maximum size of a policy and of each file that it names, in bytes.
const MAX_POLICY: u64 = 1 << 20;
/// Maximum number of requirements of one scope, and of keys of one requirement.
const MAX_REQUIREMENTS: usize = 100;
/// The number of characters of a name that are shown.
const MAX_NAME: usize = 200;
/// The transport of images in registries.
const REGISTRY: &str = "docker";

/// Which signatures images need: a `policy.json`.
#[derive(Debug, Clone)]
pub struct Policy {
    path: PathBuf,
    default: Vec<Requirement>,
    /// The requirements by transport and by scope.
    transports: BTreeMap<String, BTreeMap<String, Vec<Requirement>>>,
}

/// What an image needs.
#[derive(Debug, Clone)]
enum Requirement {
    Nothing,
    Reject,
    /// One of these signatures.
    Signed {
        verifiers: Vec<Verifier>,
        name: SignedName,
    },
    /// Something that is not supported here.
    Unsupported(&'static str),
}

/// Which name a signature has.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", deny_unknown_fields, rename_all = "camelCase", rename_all_fields = "camelCase")]
enum SignedName {
    MatchExact {},
    MatchRepoDigestOrExact {},
    MatchRepository {},
    ExactReference { docker_reference: String },
    ExactRepository { docker_repository: String },
    RemapIdentity { prefix: String, signed_prefix: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    default: Vec<Value>,
    #[serde(default)]
    transports: BTreeMap<String, BTreeMap<String, Vec<Value>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SigstoreSigned {
    #[serde(rename = "type")]
    _type: String,
    key_path: Option<PathBuf>,
    key_paths: Option<Vec<PathBuf>>,
    key_data: Option<String>,
    key_datas: Option<Vec<String>>,
    fulcio: Option<Fulcio>,
    pki: Option<Value>,
    rekor_public_key_path: Option<PathBuf>,
    rekor_public_key_paths: Option<Vec<PathBuf>>,
    rekor_public_key_data: Option<String>,
    rekor_public_key_datas: Option<Vec<String>>,
    signed_identity: Option<SignedName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Fulcio {
    ca_path: Option<PathBuf>,
    ca_data: Option<String>,
    #[serde(rename = "oidcIssuer")]
    issuer: String,
    subject_email: String,
}

/// A value in which each map has each key once. Otherwise, a second entry for a scope would replace the first one.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a policy")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut fields = Map::new();
        while let Some((key, Unique(value))) = map.next_entry::<String, Unique>()? {
            if fields.contains_key(&key) {
                let key: String = key.chars().take(MAX_NAME).collect();
                return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
            }
            fields.insert(key, value);
        }
        Ok(Unique(Value::Object(fields)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(value)) = items.next_element()? {
            list.push(value);
        }
        Ok(Unique(Value::Array(list)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Unique, E> {
        Ok(Unique(text.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Unique, E> {
        Ok(Unique(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Unique, E> {
        Ok(Unique(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Unique, E> {
        Ok(Unique(number.into()))
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique(Value::Null))
    }
}

impl Policy {
    /// Reads a policy and the keys that it names. Fields that it should not have are an error.
    ///
    /// # Errors
    ///
    /// [`KeyError`] for other files, and for keys that cannot be used.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let error = |reason: String| KeyError::at(path, reason);
        let bytes = key_file::read(path, MAX_POLICY)?;
        let expected =
            |failure| error(format!("expected a policy.json of containers: {}", json_error(&failure)));
        let Unique(policy) = serde_json::from_slice(&bytes).map_err(expected)?;
        let PolicyFile { default, transports } = serde_json::from_value(policy).map_err(expected)?;
        let parse = |scope: &str, requirements: Vec<Value>| {
            let parsed = requirements_of(requirements);
            parsed.map_err(|reason| error(format!("{scope}: {reason}")))
        };
        let default = parse("default", default)?;
        let transports = transports.into_iter().map(|(transport, scopes)| {
            let scopes = scopes.into_iter().map(|(scope, requirements)| {
                let requirements = parse(&format!("transports.{transport}.{scope:?}"), requirements)?;
                Ok((scope, requirements))
            });
            Ok((transport.clone(), scopes.collect::<Result<_, KeyError>>()?))
        });
        Ok(Self { path: path.to_owned(), default, transports: transports.collect::<Result<_, _>>()? })
    }

    /// Returns the file of the policy.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why an image of a registry is rejected; `None` if it is accepted.
    ///
    /// # Errors
    ///
    /// As [`Repository::verify`].
    pub async fn rejection(&self, image: &Repository, digest: &Digest) -> Result<Option<String>, Error> {
        for requirement in self.requirements(REGISTRY, &scopes(image.reference())) {
            let reason = match requirement {
                Requirement::Signed { verifiers, name } => {
                    rejection_of_signatures(image, digest, verifiers, name).await?
                }
                other => other.rejection(),
            };
            if reason.is_some() {
                return Ok(reason);
            }
        }
        Ok(None)
    }

    /// Returns why an image in the file or directory `path` is rejected; `None` if it is accepted. `transport` is `oci`, `oci-archive`
    /// or `docker-archive`.
    #[must_use]
    pub fn local_rejection(&self, transport: &str, path: &Path) -> Option<String> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // The root itself is no scope.
        let parents = path.ancestors().filter(|parent| parent.parent().is_some());
        let scopes: Vec<String> = parents.map(|parent| parent.display().to_string()).collect();
        self.requirements(transport, &scopes).iter().find_map(Requirement::rejection)
    }

    /// Returns the requirements of the first scope that has some.
    fn requirements(&self, transport: &str, scopes: &[String]) -> &[Requirement] {
        let own = self.transports.get(transport);
        let found = own
            .and_then(|own| scopes.iter().map(String::as_str).chain([""]).find_map(|scope| own.get(scope)));
        found.unwrap_or(&self.default)
    }
}

impl Requirement {
    /// Returns why it rejects an image that has no signatures.
    fn rejection(&self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Reject => Some("the policy rejects all images of this scope".to_owned()),
            Self::Signed { .. } => {
                Some("the policy requires a signature, and only images in registries have one".to_owned())
            }
            Self::Unsupported(what) => Some(format!("the policy requires `{what}`, which is not supported")),
        }
    }
}

/// Returns why the signatures of an image are rejected; `None` if one is accepted.
async fn rejection_of_signatures(
    image: &Repository,
    digest: &Digest,
    verifiers: &[Verifier],
    name: &SignedName,
) -> Result<Option<String>, Error> {
    let mut reasons = Vec::new();
    for verifier in verifiers {
        let found = image.verify(digest, verifier).await?;
        for Verified { reference, .. } in found.verified {
            if name.accepts(image.reference(), &reference) {
                return Ok(None);
            }
            let as_what = if reference.is_empty() { "without a name" } else { &reference };
            reasons.push(format!(
                "it is signed as `{}`, which the signedIdentity of the policy does not accept",
                as_what.chars().take(MAX_NAME).collect::<String>()
            ));
        }
        reasons.extend(found.problems.iter().map(|problem| format!("it {problem}")));
    }
    reasons.dedup();
    Ok(Some(if reasons.is_empty() { "it is not signed".to_owned() } else { reasons.join("; ") }))
}

impl SignedName {
    /// Returns whether `signed`, the name in a signature, is one that `image` may have.
    fn accepts(&self, image: &Reference, signed: &str) -> bool {
        let Ok(signed) = signed.parse::<Reference>() else { return false };
        let same_repository =
            |name: &str| name.parse::<Reference>().is_ok_and(|name| base(&name) == base(&signed));
        let is_exact = signed.tag().is_some() || signed.digest().is_some();
        match self {
            Self::MatchExact {} => is_exact && identity(image) == identity(&signed),
            Self::MatchRepoDigestOrExact {} => digest_or_exact(image, &base(image), &signed),
            Self::MatchRepository {} => base(image) == base(&signed),
            Self::ExactReference { docker_reference } => {
                docker_reference.parse::<Reference>().is_ok_and(|name| {
                    let is_named = name.tag().is_some() || name.digest().is_some();
                    is_named && is_exact && identity(&name) == identity(&signed)
                })
            }
            Self::ExactRepository { docker_repository } => same_repository(docker_repository),
            Self::RemapIdentity { prefix, signed_prefix } => {
                let name = base(image);
                let rest = name.strip_prefix(prefix.as_str());
                let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
                let name = rest.map_or_else(|| name.clone(), |rest| format!("{signed_prefix}{rest}"));
                digest_or_exact(image, &name, &signed)
            }
        }
    }
}

/// Returns whether `signed` has the name `base` and, if the image has no digest, the same tag.
fn digest_or_exact(image: &Reference, base: &str, signed: &Reference) -> bool {
    if signed.tag().is_none() && signed.digest().is_none() {
        return false;
    }
    let name = self::base(signed);
    if image.digest().is_some() {
        return name == base;
    }
    name == base && signed.digest().is_none() && signed.tag() == Some(image.tag().unwrap_or("latest"))
}

/// Returns registry and repository.
fn base(name: &Reference) -> String {
    format!("{}/{}", name.registry(), name.repository())
}

/// Returns the name with its digest, or else with its tag.
fn identity(name: &Reference) -> String {
    match name.digest() {
        Some(digest) => format!("{}@{digest}", base(name)),
        None => format!("{}:{}", base(name), name.tag().unwrap_or("latest")),
    }
}

/// Returns the scopes of an image in a registry, the most specific one first.
fn scopes(image: &Reference) -> Vec<String> {
    let mut scopes = vec![identity(image)];
    let base = base(image);
    let mut name = base.as_str();
    loop {
        scopes.push(name.to_owned());
        match name.rsplit_once('/') {
            Some((parent, _)) => name = parent,
            None => break,
        }
    }
    let mut host = name.split(':').next().unwrap_or_default();
    while let Some((_, parent)) = host.split_once('.') {
        scopes.push(format!("*.{parent}"));
        host = parent;
    }
    scopes
}

/// Parses the requirements of a scope.
fn requirements_of(requirements: Vec<Value>) -> Result<Vec<Requirement>, String> {
    if requirements.is_empty() {
        return Err("expected at least one requirement".to_owned());
    }
    if requirements.len() > MAX_REQUIREMENTS {
        return Err(format!("more than {MAX_REQUIREMENTS} requirements"));
    }
    requirements.into_iter().map(requirement_of).collect()
}

fn requirement_of(requirement: Value) -> Result<Requirement, String> {
    let kind = requirement["type"].as_str().unwrap_or_default().to_owned();
    let is_plain = requirement.as_object().is_some_and(|fields| fields.len() == 1);
    match kind.as_str() {
        "insecureAcceptAnything" if is_plain => Ok(Requirement::Nothing),
        "reject" if is_plain => Ok(Requirement::Reject),
        "signedBy" => Ok(Requirement::Unsupported("signedBy")),
        "sigstoreSigned" => {
            let signed: SigstoreSigned =
                serde_json::from_value(requirement).map_err(|error| json_error(&error))?;
            signed.requirement()
        }
        "insecureAcceptAnything" | "reject" => Err(format!("`{kind}` has no other fields")),
        kind => Err(format!("unknown type `{}`", kind.chars().take(40).collect::<String>())),
    }
}

impl SigstoreSigned {
    fn requirement(self) -> Result<Requirement, String> {
        let name = self.signed_identity.unwrap_or(SignedName::MatchRepoDigestOrExact {});
        let keys = sources(self.key_path, self.key_paths, self.key_data, self.key_datas)
            .map_err(|reason| format!("keyPath, keyPaths, keyData and keyDatas: {reason}"))?;
        let logs = sources(
            self.rekor_public_key_path,
            self.rekor_public_key_paths,
            self.rekor_public_key_data,
            self.rekor_public_key_datas,
        )
        .map_err(|reason| format!("rekorPublicKeyPath and rekorPublicKeyData: {reason}"))?;
        let verifiers = match (keys, self.fulcio, self.pki) {
            (None, None, Some(_)) => return Ok(Requirement::Unsupported("sigstoreSigned with pki")),
            (Some(_), None, None) if logs.is_some() => {
                return Ok(Requirement::Unsupported("sigstoreSigned with a key and rekorPublicKey"));
            }
            (Some(keys), None, None) => {
                let keys = keys.iter().map(|pem| public_key(pem).map(Verifier::Key));
                keys.collect::<Result<_, _>>()?
            }
            (None, Some(Fulcio { ca_path, ca_data, issuer, subject_email }), None) => {
                let logs = logs.ok_or("fulcio requires rekorPublicKeyPath or rekorPublicKeyData")?;
                let authorities = sources(ca_path, None, ca_data, None)
                    .map_err(|reason| format!("caPath and caData: {reason}"))?
                    .ok_or("fulcio requires caPath or caData")?;
                let roots: Result<Vec<CertificateDer<'static>>, _> =
                    authorities.iter().flat_map(|pem| CertificateDer::pem_slice_iter(pem)).collect();
                let roots = roots.ok().filter(|roots| !roots.is_empty());
                let roots = roots.ok_or("expected certificates in PEM in caPath or caData")?;
                let logs = logs.iter().map(|pem| public_key(pem)).collect::<Result<_, _>>()?;
                vec![Identity::new(&subject_email, &issuer, roots, logs).into()]
            }
            _ => {
                return Err(
                    "expected exactly one of keyPath, keyPaths, keyData, keyDatas, fulcio and pki".to_owned()
                );
            }
        };
        Ok(Requirement::Signed { verifiers, name })
    }
}

/// Reads a key in PEM.
fn public_key(pem: &[u8]) -> Result<VerifyingKey, String> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok();
    let key = key.and_then(|der| VerifyingKey::from_spki(&der));
    key.ok_or_else(|| "expected a P-256 public key in PEM, such as cosign.pub".to_owned())
}

/// Returns the contents of files, or of values in base64; `None` if there are neither.
fn sources(
    path: Option<PathBuf>,
    paths: Option<Vec<PathBuf>>,
    data: Option<String>,
    datas: Option<Vec<String>>,
) -> Result<Option<Vec<Vec<u8>>>, String> {
    let given = [path.is_some(), paths.is_some(), data.is_some(), datas.is_some()];
    match given.iter().filter(|is_given| **is_given).count() {
        0 => return Ok(None),
        1 => {}
        _ => return Err("more than one of them".to_owned()),
    }
    let paths = path.into_iter().chain(paths.into_iter().flatten());
    let files = paths.map(|path| {
        file::read(&path, MAX_POLICY)
            .map_err(|error| format!("failed to read {}: {}", path.display(), io_error(&error)))
    });
    let datas = data.into_iter().chain(datas.into_iter().flatten());
    let values = datas.map(|data| STANDARD.decode(data).map_err(|_| "invalid base64".to_owned()));
    let all: Vec<Vec<u8>> = files.chain(values).take(MAX_REQUIREMENTS).collect::<Result<_, String>>()?;
    if all.is_empty() { Err("the list is empty".to_owned()) } else { Ok(Some(all)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

    fn name(text: &str) -> Reference {
        text.parse().unwrap()
    }

    fn policy(policy: &Value) -> Result<Policy, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), policy.to_string()).unwrap();
        Policy::read(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn most_specific_scope_applies() {
        assert_eq!(
            scopes(&name("a.example.com:5000/org/app:v1")),
            [
                "a.example.com:5000/org/app:v1",
                "a.example.com:5000/org/app",
                "a.example.com:5000/org",
                "a.example.com:5000",
                "*.example.com",
                "*.com",
            ]
        );
        assert_eq!(
            scopes(&name(&format!("busybox:1@{DIGEST}")))[..2],
            [format!("docker.io/library/busybox@{DIGEST}"), "docker.io/library/busybox".to_owned()]
        );
        let accept = || json!([{ "type": "insecureAcceptAnything" }]);
        let policy = policy(&json!({
            "default": [{ "type": "reject" }],
            "transports": {
                "docker": { "quay.io/org": accept(), "quay.io/org/bad": [{ "type": "reject" }] },
                "oci": { "": accept() },
            },
        }))
        .unwrap();
        for (image, is_accepted) in [
            ("quay.io/org/app:v1", true),
            ("quay.io/org/bad:v1", false),
            ("quay.io/organization/app:v1", false),
            ("ghcr.io/org/app:v1", false),
        ] {
            let found = policy.requirements(REGISTRY, &scopes(&name(image)));
            assert_eq!(found.iter().all(|one| one.rejection().is_none()), is_accepted, "{image}");
        }
        assert_eq!(policy.local_rejection("oci", Path::new("x")), None);
        assert!(policy.local_rejection("oci-archive", Path::new("x")).is_some());
    }

    #[test]
    fn names_in_signatures_are_compared() {
        let by_digest = format!("quay.io/org/app@{DIGEST}");
        let kind = |kind: &str| json!({ "type": kind });
        let exact = json!({ "type": "exactReference", "dockerReference": "ghcr.io/a/b:v1" });
        let repository = json!({ "type": "exactRepository", "dockerRepository": "ghcr.io/a/b" });
        let remap = json!({ "type": "remapIdentity", "prefix": "quay.io/org", "signedPrefix": "ghcr.io/a" });
        for (rule, image, signed, is_accepted) in [
            (kind("matchExact"), "quay.io/org/app:v1", "quay.io/org/app:v1", true),
            (kind("matchExact"), "quay.io/org/app:v1", "quay.io/org/app:v2", false),
            (kind("matchExact"), "quay.io/org/app", "quay.io/org/app", false),
            (kind("matchRepoDigestOrExact"), "quay.io/org/app:v1", "quay.io/org/app:v1", true),
            (kind("matchRepoDigestOrExact"), "quay.io/org/app:v1", "quay.io/org/app", false),
            (kind("matchRepoDigestOrExact"), "quay.io/org/app:v1", "quay.io/org/app:v2", false),
            (kind("matchRepoDigestOrExact"), &by_digest, "quay.io/org/app:v2", true),
            (kind("matchRepoDigestOrExact"), &by_digest, "quay.io/org/other:v2", false),
            (kind("matchRepository"), "quay.io/org/app:v1", "quay.io/org/app", true),
            (kind("matchRepository"), "quay.io/org/app:v1", "quay.io/org/other", false),
            (kind("matchRepository"), "quay.io/org/app:v1", "", false),
            (exact.clone(), "quay.io/org/app:v9", "ghcr.io/a/b:v1", true),
            (exact, "quay.io/org/app:v1", "ghcr.io/a/b:v2", false),
            (repository.clone(), "quay.io/org/app:v9", "ghcr.io/a/b", true),
            (repository, "quay.io/org/app:v1", "ghcr.io/a/c", false),
            (remap.clone(), "quay.io/org/app:v1", "ghcr.io/a/app:v1", true),
            (remap.clone(), "quay.io/org/app:v1", "ghcr.io/a/app:v2", false),
            (remap.clone(), "quay.io/organization/app:v1", "ghcr.io/a/app:v1", false),
            (remap, "quay.io/other/app:v1", "quay.io/other/app:v1", true),
        ] {
            let parsed: SignedName = serde_json::from_value(rule.clone()).unwrap();
            assert_eq!(parsed.accepts(&name(image), signed), is_accepted, "{rule} {image} {signed}");
        }
    }

    #[test]
    fn wrong_policies_are_errors() {
        let signed = |fields: Value| {
            let mut requirement = json!({ "type": "sigstoreSigned" });
            requirement.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            json!({ "default": [requirement] })
        };
        for (text, expected) in [
            (json!({}), "missing required field `default`"),
            (json!({ "default": [] }), "default: expected at least one requirement"),
            (json!({ "default": [{ "type": "reject" }], "more": 1 }), "unknown field `more`"),
            (json!({ "default": [{ "type": "reject", "x": 1 }] }), "`reject` has no other fields"),
            (json!({ "default": [{ "type": "other" }] }), "unknown type `other`"),
            (json!({ "default": [1] }), "unknown type ``"),
            (signed(json!({})), "expected exactly one of"),
            (signed(json!({ "keyPath": "/missing/key" })), "failed to read /missing/key"),
            (signed(json!({ "keyData": "!" })), "invalid base64"),
            (signed(json!({ "keyData": "AAAA" })), "expected a P-256 public key"),
            (signed(json!({ "keyData": "AAAA", "keyPaths": [] })), "more than one of them"),
            (signed(json!({ "keyDatas": [] })), "the list is empty"),
            (signed(json!({ "keyFile": "x" })), "unknown field `keyFile`"),
            (
                signed(json!({ "fulcio": { "caData": "AAAA", "oidcIssuer": "a", "subjectEmail": "b" } })),
                "fulcio requires rekorPublicKeyPath",
            ),
        ] {
            let error = policy(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let accept = r#"[{"type":"insecureAcceptAnything"}]"#;
        let twice =
            format!(r#"{{"default":{accept},"transports":{{"docker":{{"a.b":{accept},"a.b":{accept}}}}}}}"#);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), twice).unwrap();
        let error = Policy::read(file.path()).unwrap_err().to_string();
        assert!(error.contains("duplicate field `a.b`"), "{error}");
        for requirement in [
            json!({ "type": "signedBy", "keyType": "GPGKeys" }),
            json!({ "type": "sigstoreSigned", "pki": {} }),
        ] {
            let policy = policy(&json!({ "default": [requirement] })).unwrap();
            let reason = policy.local_rejection("oci", Path::new("x")).unwrap();
            assert!(reason.ends_with("which is not supported"), "{reason}");
        }
    }
}
