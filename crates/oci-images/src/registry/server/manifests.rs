//! Manifests, tags and referrers.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, LINK, LOCATION};
use oci_spec::image::Digest;
use serde::Deserialize;
use serde_json::json;

use super::body::RequestReader;
use super::response::{self, Code, Failure, Request, Response, digest_header, empty, set};
use super::route::{self, Reference};
use super::store::Store;
use super::uploads::query;
use crate::blocking::blocking;
use crate::json::json_error;
use crate::layout::{DOCUMENT_LIMIT, sha256};
use crate::message::percent_encoded;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The media types that are stored as manifests.
const TYPES: [&str; 4] = [
    "application/vnd.oci.image.manifest.v1+json",
    INDEX,
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

/// The maximum number of referrers in one response; others follow on the next page.
pub(crate) const MAX_REFERRERS: usize = 100;

/// The fields of a manifest or an index that matter to a registry.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    media_type: Option<String>,
    artifact_type: Option<String>,
    pub(crate) config: Option<Descriptor>,
    pub(crate) layers: Option<Vec<Descriptor>>,
    pub(crate) manifests: Option<Vec<Descriptor>>,
    pub(crate) subject: Option<Descriptor>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
}

impl Descriptor {
    pub(crate) fn digest(&self) -> Result<Digest, Failure> {
        route::digest(&self.digest)
            .map_err(|_| Failure::bad(Code::ManifestInvalid, "a descriptor has no valid SHA-256 digest"))
    }
}

pub(crate) fn get(store: &Store, name: &str, reference: &Reference) -> Result<Response, Failure> {
    let digest = resolve(store, name, reference)?;
    let media_type = store.manifest_type(name, &digest)?.ok_or_else(|| unknown(reference))?;
    let bytes = store.manifest(&digest)?;
    let length = bytes.len();
    // For HEAD, hyper omits the body and keeps the length.
    let mut response = response::full(bytes);
    set(&mut response, CONTENT_TYPE, &media_type);
    set(&mut response, CONTENT_LENGTH, &length.to_string());
    set(&mut response, digest_header(), digest.as_ref());
    Ok(response)
}

pub(crate) async fn put(
    store: &Arc<Store>,
    name: &str,
    reference: &Reference,
    request: Request,
) -> Result<Response, Failure> {
    let media_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map(|value| value.split(';').next().unwrap_or(value).trim().to_owned());
    let body = RequestReader::new(request.into_body()).read(DOCUMENT_LIMIT).await?;
    let bytes = body.ok_or_else(|| {
        let message = format!("a manifest may have at most {DOCUMENT_LIMIT} bytes");
        Failure::too_large(Code::ManifestInvalid, message)
    })?;
    let digest = sha256(&bytes);
    if let Reference::Digest(expected) = reference
        && *expected != digest
    {
        return Err(Failure::bad(Code::DigestInvalid, format!("expected digest {expected}, got {digest}")));
    }
    let invalid = |message: String| Failure::bad(Code::ManifestInvalid, message);
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| invalid(json_error(&error)))?;
    let own_type = manifest.media_type.as_deref();
    let media_type = media_type
        .or_else(|| own_type.map(str::to_owned))
        .filter(|media_type| TYPES.contains(&media_type.as_str()))
        .ok_or_else(|| invalid(format!("unsupported media type; supported: {}", TYPES.join(", "))))?;
    if own_type.is_some_and(|own| own != media_type) {
        return Err(invalid("mediaType and Content-Type differ".into()));
    }
    check_parts(store, name, &manifest)?;
    let tag = match reference {
        Reference::Tag(tag) => Some(tag.clone()),
        Reference::Digest(_) => None,
    };
    let subject = manifest.subject.as_ref().map(Descriptor::digest).transpose()?;
    let stored = Stored { name: name.to_owned(), tag, media_type, subject: subject.clone(), bytes };
    stored.write(store).await?;
    let mut response = empty(http::StatusCode::CREATED);
    set(&mut response, LOCATION, &format!("/v2/{name}/manifests/{digest}"));
    set(&mut response, digest_header(), digest.as_ref());
    if let Some(subject) = subject {
        set(&mut response, HeaderName::from_static("oci-subject"), subject.as_ref());
    }
    Ok(response)
}

/// A manifest on its way into the store.
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) tag: Option<String>,
    pub(crate) media_type: String,
    pub(crate) subject: Option<Digest>,
    pub(crate) bytes: Vec<u8>,
}

impl Stored {
    /// Writes it to the disk, beside other work.
    pub(crate) async fn write(self, store: &Arc<Store>) -> io::Result<()> {
        let store = Arc::clone(store);
        blocking(move || {
            let Self { name, tag, media_type, subject, bytes } = self;
            store.put_manifest(&name, tag.as_deref(), &media_type, subject.as_ref(), &bytes)
        })
        .await
    }
}

/// Rejects a manifest that names what the repository lacks: content is pushed before its manifest.
fn check_parts(store: &Store, name: &str, manifest: &Manifest) -> Result<(), Failure> {
    let missing = |digest: &Digest| {
        let message = format!("{digest} is not in this repository");
        Failure::not_found(Code::ManifestBlobUnknown, message)
    };
    if let Some(manifests) = &manifest.manifests {
        for descriptor in manifests {
            let digest = descriptor.digest()?;
            if store.manifest_type(name, &digest)?.is_none() {
                return Err(missing(&digest));
            }
        }
        return Ok(());
    }
    let (Some(config), Some(layers)) = (&manifest.config, &manifest.layers) else {
        return Err(Failure::bad(Code::ManifestInvalid, "expected config and layers, or manifests"));
    };
    for descriptor in layers.iter().chain([config]) {
        // Layers that may not be distributed are stored elsewhere.
        let kind = &descriptor.media_type;
        let is_elsewhere = kind.contains("nondistributable") || kind.contains("foreign");
        let digest = descriptor.digest()?;
        if !is_elsewhere && !store.has_blob(name, &digest) {
            return Err(missing(&digest));
        }
    }
    Ok(())
}

pub(crate) fn delete(store: &Store, name: &str, reference: &Reference) -> Result<Response, Failure> {
    let existed = match reference {
        Reference::Tag(tag) => store.remove_tag(name, tag)?,
        Reference::Digest(digest) => store.remove_manifest(name, digest)?,
    };
    if existed { Ok(empty(http::StatusCode::ACCEPTED)) } else { Err(unknown(reference)) }
}

pub(crate) fn tags(store: &Store, name: &str, request: &Request) -> Result<Response, Failure> {
    if !store.has_repository(name) {
        return Err(Failure::not_found(Code::NameUnknown, format!("unknown repository {name}")));
    }
    let page = Page::read(request)?;
    let (tags, more) = page.select(store.tags(name)?);
    let mut response = response::json(&json!({ "name": name, "tags": tags }));
    page.link(&mut response, &format!("/v2/{name}/tags/list"), &tags, more);
    Ok(response)
}

pub(crate) fn catalog(store: &Store, request: &Request) -> Result<Response, Failure> {
    let page = Page::read(request)?;
    let (names, more) = page.select(store.repositories()?);
    let mut response = response::json(&json!({ "repositories": names }));
    page.link(&mut response, "/v2/_catalog", &names, more);
    Ok(response)
}

pub(crate) fn referrers(
    store: &Store,
    name: &str,
    subject: &Digest,
    request: &Request,
) -> Result<Response, Failure> {
    let mut query = query(request.uri());
    let wanted = query.remove("artifactType");
    let page = Page { count: Some(MAX_REFERRERS), last: query.remove("last") };
    let (digests, more) = page.select(store.referrers(name, subject)?);
    let mut manifests = Vec::new();
    for digest in &digests {
        let digest = route::digest(digest)?;
        // Deleted manifests are still in the list.
        let Some(media_type) = store.manifest_type(name, &digest)? else { continue };
        let bytes = store.manifest(&digest)?;
        let Ok(manifest) = serde_json::from_slice::<Manifest>(&bytes) else { continue };
        // The artifact type of an image manifest without one is the type of its configuration.
        let config_type = manifest.config.map(|config| config.media_type);
        let kind = manifest.artifact_type.filter(|kind| !kind.is_empty()).or(config_type);
        if wanted.is_some() && wanted != kind {
            continue;
        }
        let mut descriptor = json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() });
        if let Some(kind) = kind {
            descriptor["artifactType"] = json!(kind);
        }
        if let Some(annotations) = manifest.annotations {
            descriptor["annotations"] = json!(annotations);
        }
        manifests.push(descriptor);
    }
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    let mut response = response::json(&index);
    set(&mut response, CONTENT_TYPE, INDEX);
    let mut next = format!("/v2/{name}/referrers/{subject}?last={}", digests.last().map_or("", |last| last));
    if let Some(wanted) = wanted {
        set(&mut response, HeaderName::from_static("oci-filters-applied"), "artifactType");
        next = format!("{next}&artifactType={}", percent_encoded(&wanted));
    }
    if more {
        set(&mut response, LINK, &format!("<{next}>; rel=\"next\""));
    }
    Ok(response)
}

fn resolve(store: &Store, name: &str, reference: &Reference) -> Result<Digest, Failure> {
    match reference {
        Reference::Digest(digest) => Ok(digest.clone()),
        Reference::Tag(tag) => store.tagged(name, tag)?.ok_or_else(|| unknown(reference)),
    }
}

fn unknown(reference: &Reference) -> Failure {
    let what = match reference {
        Reference::Tag(tag) => tag.clone(),
        Reference::Digest(digest) => digest.to_string(),
    };
    Failure::not_found(Code::ManifestUnknown, format!("manifest {what} is not in this repository"))
}

/// A part of a sorted list: a number of names after a name.
struct Page {
    count: Option<usize>,
    last: Option<String>,
}

impl Page {
    fn read(request: &Request) -> Result<Self, Failure> {
        let mut values = query(request.uri());
        let count = values.remove("n").map(|n| n.parse()).transpose();
        let count = count.map_err(|_| Failure::bad(Code::SizeInvalid, "n must be a number"))?;
        Ok(Self { count, last: values.remove("last") })
    }

    /// Returns the names of this page, and whether there are more.
    fn select(&self, names: BTreeSet<String>) -> (Vec<String>, bool) {
        let mut rest: Vec<String> =
            names.into_iter().filter(|name| self.last.as_ref().is_none_or(|last| name > last)).collect();
        let more = self.count.is_some_and(|count| rest.len() > count);
        rest.truncate(self.count.unwrap_or(usize::MAX));
        (rest, more)
    }

    /// Adds a link to the next page.
    fn link(&self, response: &mut Response, path: &str, names: &[String], more: bool) {
        if let (Some(count), Some(last), true) = (self.count, names.last(), more) {
            set(response, LINK, &format!("<{path}?n={count}&last={last}>; rel=\"next\""));
        }
    }
}
