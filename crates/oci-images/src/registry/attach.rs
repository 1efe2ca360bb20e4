//! Attaching documents to an image: SBOMs, provenance and the like (image specification, "Guidelines for Artifact Usage";
//! distribution specification, "Pushing Manifests with Subject").

use std::collections::BTreeMap;

use oci_spec::image::{Descriptor, Digest, MediaType};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::client::Repository;
use super::error::Error;
use super::failure::Failure;
use super::progress::Progress;
use crate::json::json_error;
use crate::layout::{Artifact, Blob, document};

/// The media type of a configuration that says nothing, `{}`.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// A document that is attached to an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The media type of the document, which is also the type of the artifact, such as `application/spdx+json`.
    pub media_type: String,
    /// The document.
    pub bytes: Vec<u8>,
    /// Annotations of the artifact and of the document in it.
    pub annotations: BTreeMap<String, String>,
}

impl Attachment {
    /// Builds the artifact that refers to `subject`: the same attachment of the same image has the same digest.
    fn artifact(self, subject: &Descriptor) -> Result<Artifact, Error> {
        let config = Blob::from_bytes(MediaType::from(EMPTY), *b"{}");
        let blob = Blob::from_bytes(MediaType::from(self.media_type.as_str()), self.bytes);
        let mut layer = json!(blob.descriptor());
        if !self.annotations.is_empty() {
            // Tools that read attestations of BuildKit look for them here.
            layer["annotations"] = json!(self.annotations);
        }
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::ImageManifest,
            "artifactType": self.media_type,
            "config": config.descriptor(),
            "layers": [layer],
            "subject": {
                "mediaType": subject.media_type(),
                "digest": subject.digest(),
                "size": subject.size(),
            },
        });
        if !self.annotations.is_empty() {
            manifest["annotations"] = json!(self.annotations);
        }
        let manifest = Blob::from_bytes(MediaType::ImageManifest, document(&manifest)?);
        Ok(Artifact::new(manifest, vec![blob, config], Vec::new()))
    }
}

impl Repository {
    /// Attaches a document to the image or index `subject` of this repository, and returns the digest of its manifest. If the
    /// registry does not have the referrers API, the document is listed under the tag that the specification defines for it.
    ///
    /// # Errors
    ///
    /// As [`Repository::push`].
    pub async fn attach(&self, subject: &Descriptor, attachment: Attachment) -> Result<Digest, Error> {
        let artifact_type = attachment.media_type.clone();
        let artifact = attachment.artifact(subject)?;
        let manifest = artifact.manifest();
        for blob in artifact.blobs() {
            self.push_blob(blob, None, &Progress::hidden()).await?;
        }
        let what = format!("the {artifact_type} of {}", subject.digest());
        let store = |failure| self.session.error(failure, "store", &what);
        let answered = self.push_manifest(manifest, manifest.digest().as_ref()).await.map_err(store)?;
        if !answered.lists_referrers {
            self.list_referrer(manifest).await.map_err(store)?;
        }
        Ok(manifest.digest().clone())
    }

    /// Lists a manifest under the tag of what it refers to, if it refers to something: for registries without the referrers API.
    pub(crate) async fn list_referrer(&self, manifest: &Blob) -> Result<(), Failure> {
        let bytes = manifest.document().map_err(Failure::Local)?;
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { return Ok(()) };
        let subject = value["subject"]["digest"].as_str().and_then(|digest| digest.parse::<Digest>().ok());
        let Some(subject) = subject else { return Ok(()) };
        let descriptor = manifest.descriptor();
        let mut entry = json!({ "mediaType": descriptor.media_type(), "digest": descriptor.digest(), "size": descriptor.size() });
        let artifact_type = value["artifactType"].as_str().filter(|text| !text.is_empty());
        let artifact_type = artifact_type.or(value["config"]["mediaType"].as_str());
        entry["artifactType"] = json!(artifact_type.unwrap_or_default());
        if let Some(annotations) = value.get("annotations").filter(|annotations| annotations.is_object()) {
            entry["annotations"] = annotations.clone();
        }
        self.list_by_tag(&subject, entry).await
    }

    /// Adds a referrer to the index with the tag of `subject`.
    async fn list_by_tag(&self, subject: &Digest, entry: Value) -> Result<(), Failure> {
        let tag = referrers_tag(subject);
        let mut index = match self.manifest_bytes(&tag).await {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Failure::Invalid(format!("the index {tag} is not an image index: {}", json_error(&error)))
            })?,
            Err(Failure::Status { status: StatusCode::NOT_FOUND, .. }) => json!({
                "schemaVersion": 2, "mediaType": MediaType::ImageIndex, "manifests": [],
            }),
            Err(failure) => return Err(failure),
        };
        let Some(manifests) = index.get_mut("manifests").and_then(Value::as_array_mut) else {
            return Err(Failure::Invalid(format!("{tag} is not an image index")));
        };
        if manifests.iter().any(|listed| listed["digest"] == entry["digest"]) {
            return Ok(());
        }
        manifests.push(entry);
        let bytes = document(&index).map_err(Failure::Local)?;
        self.push_manifest(&Blob::from_bytes(MediaType::ImageIndex, bytes), &tag).await.map(drop)
    }
}

/// Returns the tag of the index of an image's referrers, in registries without the referrers API.
pub(crate) fn referrers_tag(digest: &Digest) -> String {
    digest.as_ref().replace(':', "-")
}
