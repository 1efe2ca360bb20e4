//! Signatures in cosign's form with keys, so that cosign verifies these and these are verified from cosign's.
//!
//! A signature is a layer of the image with the tag `sha256-HEX.sig` in the repository of the signed image: a small JSON
//! document that names the digest, and its ECDSA signature (P-256, SHA-256) in an annotation. Signatures that are made here have no
//! transparency log and no certificate: `cosign verify --key … --insecure-ignore-tlog=true` asks for the same.
//!
//! An image is also signed with a sigstore bundle, which cosign 3 reads.
//!
//! Source: `specs/SIGNATURE_SPEC.md` of sigstore/cosign.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::{Descriptor, Digest, MediaType};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::client::Repository;
use super::error::Error;
use super::problem::Problem;
use super::progress::Progress;
use super::promise::LogEntry;
use super::referrers::Referrer;
use super::signed::{MAX_CHAIN, Signed};
use super::signing_key::SigningKey;
use super::sigstore_bundle::{self, ARTIFACT_TYPE};
use super::verifier::{Verified, Verifier};
use crate::blocking::blocking;
use crate::json::json_error;
use crate::layout::{self, Artifact, Blob, DOCUMENT_LIMIT, document, is_image_config};

/// The media type of a signed document.
const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation with the signature of a layer.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// The annotation with the certificate of a signature that was made without a key of one's own.
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
/// The annotation with the certificates that it leads to.
const CHAIN: &str = "dev.sigstore.cosign/chain";
/// The annotation with the entry of a transparency log.
const LOG_ENTRY: &str = "dev.sigstore.cosign/bundle";
/// The number of characters of a digest that are shown.
const MAX_DIGEST: usize = 71;
/// The type of artifacts that are signatures of the Notary Project.
const NOTARY: &str = "application/vnd.cncf.notary.signature";
/// Maximum size of a signed document, in bytes.
const MAX_PAYLOAD: u64 = 256 << 10;
/// Maximum number of signatures of one image.
const MAX_SIGNATURES: usize = 100;

/// What the signatures of an image say about a key or an identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// The signatures that verify the image.
    pub verified: Vec<Verified>,
    /// Why other signatures do not. An image without any signature has neither.
    pub problems: BTreeSet<Problem>,
}

impl Verification {
    fn add(&mut self, found: Result<Verified, Problem>) {
        match found {
            Ok(verified) => self.verified.push(verified),
            Err(problem) => {
                self.problems.insert(problem);
            }
        }
    }
}

impl Repository {
    /// Signs the image or index `digest`: under cosign's tag, and with a sigstore bundle. What its tag of signatures has already is
    /// kept as it is. An image that has a signature of the key is not signed again. Returns the tag of the signatures.
    ///
    /// # Errors
    ///
    /// As [`Repository::push`] and [`Repository::verify`]; an image has at most 100 signatures.
    pub async fn sign(&self, digest: &Digest, key: &SigningKey) -> Result<String, Error> {
        let tag = self.sign_with_tag(digest, key).await?;
        let mut found = Verification::default();
        self.verify_bundles(digest, &Verifier::Key(key.public()), &mut found).await?;
        if found.verified.is_empty() {
            let image = self.manifest(&self.reference.at(digest.as_ref())).await?;
            let statement = sigstore_bundle::signature_of(digest)?;
            self.attest(image.descriptor(), &statement, key).await?;
        }
        Ok(tag)
    }

    /// Attaches an in-toto statement about the image or index `subject`, signed in a sigstore bundle.
    ///
    /// # Errors
    ///
    /// As [`Repository::attach`], and [`Error::Sign`].
    pub async fn attest(
        &self,
        subject: &Descriptor,
        statement: &[u8],
        key: &SigningKey,
    ) -> Result<(), Error> {
        self.attach(subject, sigstore_bundle::attachment(statement, key)?).await.map(drop)
    }

    /// Adds a signature under cosign's tag.
    async fn sign_with_tag(&self, digest: &Digest, key: &SigningKey) -> Result<String, Error> {
        let tag = tag(digest);
        let target = self.at(&tag);
        let Signatures { manifest, layers } = target.signatures().await?;
        let public = Verifier::Key(key.public());
        if layers.iter().any(|layer| layer.verified(&public, digest).is_ok()) {
            return Ok(tag);
        }
        check_count(layers.len() + 1, &target)?;
        let payload = json!({
            "critical": {
                "identity": { "docker-reference": format!("{}/{}", self.registry(), self.reference.repository()) },
                "image": { "docker-manifest-digest": digest },
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = document(&payload)?;
        let signature = STANDARD.encode(key.sign(&payload)?);
        let layer = Blob::from_bytes(MediaType::from(PAYLOAD_TYPE), payload)
            .with_annotations([(SIGNATURE.to_owned(), signature)].into());
        let config = match &manifest {
            Some(manifest) => target.config(manifest).await?,
            None => Some(new_config()),
        };
        let signed = with_layer(manifest.unwrap_or_else(new_manifest), config, layer)
            .map_err(|error| target.error_of(error))?;
        target.push(signed, None, &Progress::hidden()).await?;
        Ok(tag)
    }

    /// Verifies the signatures of `digest`: those in cosign's tag, and those in sigstore bundles that refer to the image.
    ///
    /// # Errors
    ///
    /// As [`Repository::artifact`], [`Error::Layout`] beyond 100 signatures of either form, and [`Error::TooLarge`] beyond 256 KiB of one.
    pub async fn verify(
        &self,
        digest: &Digest,
        verifier: impl Into<Verifier>,
    ) -> Result<Verification, Error> {
        let verifier = verifier.into();
        let mut found = Verification::default();
        let Signatures { layers, .. } = self.at(&tag(digest)).signatures().await?;
        let (own, image) = (verifier.clone(), digest.clone());
        // The search for the path of a certificate takes time.
        let outcomes =
            blocking(move || layers.iter().map(|layer| layer.verified(&own, &image)).collect::<Vec<_>>());
        for outcome in outcomes.await {
            found.add(outcome);
        }
        self.verify_bundles(digest, &verifier, &mut found).await?;
        Ok(found)
    }

    /// Adds what the sigstore bundles of an image say.
    async fn verify_bundles(
        &self,
        digest: &Digest,
        verifier: &Verifier,
        found: &mut Verification,
    ) -> Result<(), Error> {
        let referrers = self.referrers(digest).await?;
        let bundles = referrers.iter().filter(|referrer| referrer.artifact_type.starts_with(ARTIFACT_TYPE));
        check_count(bundles.clone().count(), self)?;
        for bundle in bundles {
            let (bytes, verifier, digest) = (self.bundle(bundle).await?, verifier.clone(), digest.clone());
            // The search for the path of a certificate takes time.
            let outcome = blocking(move || sigstore_bundle::verify(&bytes, &verifier, &digest)).await;
            if let Some(outcome) = outcome {
                found.add(outcome);
            }
        }
        if referrers.iter().any(|referrer| referrer.artifact_type == NOTARY) {
            found.problems.insert(Problem::Unsupported("Notary Project signature"));
        }
        Ok(())
    }

    /// Returns the sigstore bundle of a referrer.
    async fn bundle(&self, referrer: &Referrer) -> Result<Vec<u8>, Error> {
        let target = self.at(&referrer.digest);
        let manifest = target.manifest(&target.reference).await?;
        let mut blobs = self.document(&manifest, &referrer.digest)?.blobs.into_iter();
        let bundle = blobs.find(|blob| blob.media_type().as_ref().starts_with(ARTIFACT_TYPE));
        let bundle = bundle.ok_or_else(|| target.error_of("it contains no sigstore bundle"))?;
        self.payload(bundle).await
    }

    /// Returns the bytes of a signed document.
    async fn payload(&self, blob: Descriptor) -> Result<Vec<u8>, Error> {
        if blob.size() > MAX_PAYLOAD {
            let request = format!("GET {}", blob.digest());
            return Err(Error::TooLarge { request, limit: MAX_PAYLOAD });
        }
        Ok(self.fetch(&Blob::absent(blob), &Progress::hidden()).await?.document()?)
    }

    /// Returns the signatures of this tag; none if the tag does not exist.
    async fn signatures(&self) -> Result<Signatures, Error> {
        let manifest = match self.manifest(&self.reference).await {
            Ok(manifest) => manifest,
            Err(Error::NotFound { .. }) => return Ok(Signatures { manifest: None, layers: Vec::new() }),
            Err(error) => return Err(error),
        };
        let blobs = self.document(&manifest, &self.reference.to_string())?.blobs;
        let signed: Vec<_> =
            blobs.into_iter().filter(|blob| blob.media_type().as_ref() == PAYLOAD_TYPE).collect();
        check_count(signed.len(), self)?;
        let mut layers = Vec::new();
        for blob in signed {
            let annotations = blob.annotations().as_ref();
            let Some(signature) = annotations.and_then(|annotations| annotations.get(SIGNATURE)).cloned()
            else {
                continue;
            };
            let annotation = |name| annotations.and_then(|annotations| annotations.get(name)).cloned();
            let (certificate, chain, log) =
                (annotation(CERTIFICATE), annotation(CHAIN).unwrap_or_default(), annotation(LOG_ENTRY));
            let payload = self.payload(blob).await?;
            layers.push(Layer { signature, certificate, chain, log, payload });
        }
        let manifest = serde_json::from_slice(&manifest.document()?)
            .map_err(|error| self.error_of(&json_error(&error)))?;
        Ok(Signatures { manifest: Some(manifest), layers })
    }

    /// Returns the configuration of a manifest of signatures; `None` if it is not that of an image.
    async fn config(&self, manifest: &Value) -> Result<Option<Value>, Error> {
        let Ok(config) = serde_json::from_value::<Descriptor>(manifest["config"].clone()) else {
            return Ok(None);
        };
        if !is_image_config(config.media_type()) || config.size() > DOCUMENT_LIMIT {
            return Ok(None);
        }
        let config = self.fetch(&Blob::absent(config), &Progress::hidden()).await?;
        Ok(serde_json::from_slice(&config.document()?).ok())
    }

    fn error_of(&self, reason: &str) -> Error {
        self.malformed(&self.reference.to_string(), "image manifest", reason)
    }
}

/// What the tag of an image's signatures has.
struct Signatures {
    manifest: Option<Value>,
    /// The layers that are signatures.
    layers: Vec<Layer>,
}

/// Rejects more signatures than are verified.
fn check_count(count: usize, tag: &Repository) -> Result<(), layout::Error> {
    if count <= MAX_SIGNATURES {
        return Ok(());
    }
    let what = format!("signatures in {}", tag.reference);
    Err(layout::Error::TooMany { what, limit: MAX_SIGNATURES as u64 })
}

/// A signed document.
struct Layer {
    /// The signature in base64.
    signature: String,
    /// The certificate of the key in PEM, if there is one.
    certificate: Option<String>,
    /// The certificates that it leads to, in PEM.
    chain: String,
    /// The entry of a transparency log in JSON.
    log: Option<String>,
    payload: Vec<u8>,
}

impl Layer {
    /// Returns what the document says if it is signed and about `digest`.
    fn verified(&self, verifier: &Verifier, digest: &Digest) -> Result<Verified, Problem> {
        const NOT_BASE64: Problem = Problem::Unsupported("cosign signature that is not base64");
        let signature = STANDARD.decode(&self.signature).map_err(|_| NOT_BASE64)?;
        match (verifier, &self.certificate) {
            (Verifier::Key(key), certificate) if !key.verifies(&self.payload, &signature) => {
                return Err(match certificate {
                    Some(_) => Problem::CertificateInsteadOfKey,
                    None => Problem::OtherKey,
                });
            }
            (Verifier::Key(_), _) => {}
            (Verifier::Identity(_), None) => return Err(Problem::KeyInsteadOfCertificate),
            (Verifier::Identity(identity), Some(certificate)) => {
                let invalid = |_| Problem::Certificate("it is not in PEM".to_owned());
                let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(invalid)?;
                let chain: Result<Vec<_>, _> =
                    CertificateDer::pem_slice_iter(self.chain.as_bytes()).take(MAX_CHAIN).collect();
                let chain = chain.map_err(invalid)?;
                let entry = self.log.as_deref().and_then(LogEntry::from_annotation);
                let signed = Signed {
                    certificate: &certificate,
                    chain: &chain,
                    bytes: &self.payload,
                    payload: &self.payload,
                    signature: &signature,
                };
                identity.verify(&signed, entry.as_ref())?;
            }
        }
        let document: Value = serde_json::from_slice(&self.payload)
            .map_err(|_| Problem::Unsupported("cosign signature of an unknown form"))?;
        let critical = &document["critical"];
        let image = critical["image"]["docker-manifest-digest"].as_str().unwrap_or_default();
        if image != digest.as_ref() {
            return Err(Problem::OtherImage(image.chars().take(MAX_DIGEST).collect()));
        }
        Ok(Verified {
            reference: critical["identity"]["docker-reference"].as_str().unwrap_or_default().to_owned(),
            payload: String::from_utf8_lossy(&self.payload).into_owned(),
        })
    }
}

/// Returns the tag of an image's signatures.
fn tag(digest: &Digest) -> String {
    format!("{}.sig", digest.as_ref().replace(':', "-"))
}

fn new_manifest() -> Value {
    json!({ "schemaVersion": 2, "mediaType": MediaType::ImageManifest, "config": null, "layers": [] })
}

/// Returns the configuration that cosign writes, for no layers.
fn new_config() -> Value {
    json!({
        "architecture": "",
        "config": {},
        "created": "0001-01-01T00:00:00Z",
        "history": [],
        "os": "",
        "rootfs": { "type": "layers", "diff_ids": [] },
    })
}

/// Returns a manifest of signatures with one more `layer`, and what else is new. Everything else in it is kept. `config` is its
/// configuration, unless that does not list layers.
fn with_layer(mut manifest: Value, config: Option<Value>, layer: Blob) -> Result<Artifact, &'static str> {
    let mut new = vec![layer];
    let layer = &new[0];
    let layers = manifest.get_mut("layers").and_then(Value::as_array_mut).ok_or("it has no layers")?;
    layers.push(json!(layer.descriptor()));
    if let Some(mut config) = config {
        if let Some(history) = config.get_mut("history").and_then(Value::as_array_mut) {
            history.push(json!({ "created": "0001-01-01T00:00:00Z" }));
        }
        if let Some(layers) = config.pointer_mut("/rootfs/diff_ids").and_then(Value::as_array_mut) {
            layers.push(json!(layer.digest()));
        }
        let media_type = manifest["config"]["mediaType"].as_str().map(MediaType::from);
        let bytes = document(&config).map_err(|_| "its configuration is invalid")?;
        let config = Blob::from_bytes(media_type.unwrap_or(MediaType::ImageConfig), bytes);
        manifest["config"] = json!(config.descriptor());
        new.push(config);
    }
    let media_type = manifest["mediaType"].as_str().map_or(MediaType::ImageManifest, MediaType::from);
    let bytes = document(&manifest).map_err(|_| "it is invalid")?;
    Ok(Artifact::new(Blob::from_bytes(media_type, bytes), new, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::sha256;
    use crate::registry::signing_key::tests::new_key;

    #[test]
    fn signature_is_about_one_digest() {
        let key = new_key();
        let digest = sha256(b"image");
        let payload =
            format!(r#"{{"critical":{{"image":{{"docker-manifest-digest":"{digest}"}}}}}}"#).into_bytes();
        let signature = STANDARD.encode(key.sign(&payload).unwrap());
        let (certificate, chain, log) = (None, String::new(), None);
        let layer = Layer { signature, certificate, chain, log, payload };
        let own = Verifier::Key(key.public());
        assert!(layer.verified(&own, &digest).is_ok());
        assert_eq!(layer.verified(&own, &sha256(b"other")), Err(Problem::OtherImage(digest.to_string())));
        assert_eq!(layer.verified(&Verifier::Key(new_key().public()), &digest), Err(Problem::OtherKey));
        let changed = Layer { payload: [layer.payload.as_slice(), b" "].concat(), ..layer };
        assert_eq!(changed.verified(&own, &digest), Err(Problem::OtherKey));
    }
}
