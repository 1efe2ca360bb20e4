//! Manifests, tags, and who refers to whom.

use std::collections::{BTreeSet, HashMap};

use axum::body::Body;
use axum::extract::{Query, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, LINK, LOCATION};
use axum::response::Response;
use oci_spec::image::Digest;
use serde_json::{Value, json};

use super::answer::{self, Code, Failure, digest_header, empty, set};
use super::route::{self, Reference};
use super::store::Store;
use super::uploads::query;
use crate::layout::{DOCUMENT_LIMIT, sha256};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The media types that are stored as manifests.
const TYPES: [&str; 4] = [
    "application/vnd.oci.image.manifest.v1+json",
    INDEX,
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

pub(super) fn get(store: &Store, name: &str, reference: &Reference) -> Result<Response, Failure> {
    let digest = resolve(store, name, reference)?;
    let media_type = store.manifest_type(name, &digest)?.ok_or_else(|| unknown(reference))?;
    let bytes = store.manifest(&digest)?;
    let length = bytes.len();
    // For HEAD the server leaves the body out and keeps the length.
    let mut response = Response::new(Body::from(bytes));
    set(&mut response, CONTENT_TYPE, &media_type);
    set(&mut response, CONTENT_LENGTH, &length.to_string());
    set(&mut response, digest_header(), digest.as_ref());
    Ok(response)
}

pub(super) async fn put(
    store: &Store,
    name: &str,
    reference: &Reference,
    request: Request,
) -> Result<Response, Failure> {
    let media_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map(|value| value.split(';').next().unwrap_or(value).trim().to_owned());
    let limit = usize::try_from(DOCUMENT_LIMIT).unwrap_or(usize::MAX);
    let bytes = axum::body::to_bytes(request.into_body(), limit).await.map_err(|_| {
        let message = format!("a manifest has at most {limit} bytes");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, Code::ManifestInvalid, message)
    })?;
    let digest = sha256(&bytes);
    if let Reference::Digest(expected) = reference
        && *expected != digest
    {
        return Err(Failure::bad(Code::DigestInvalid, format!("the bytes have the digest {digest}")));
    }
    let invalid = |message: String| Failure::bad(Code::ManifestInvalid, message);
    let manifest: Value = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    let own_type = manifest["mediaType"].as_str();
    let media_type = media_type
        .or_else(|| own_type.map(str::to_owned))
        .filter(|media_type| TYPES.contains(&media_type.as_str()))
        .ok_or_else(|| invalid(format!("the media type is none of {}", TYPES.join(", "))))?;
    if own_type.is_some_and(|own| own != media_type) {
        return Err(invalid("mediaType and Content-Type differ".into()));
    }
    check_parts(store, name, &manifest).map_err(|failure| *failure)?;
    let tag = match reference {
        Reference::Tag(tag) => Some(tag.as_str()),
        Reference::Digest(_) => None,
    };
    store.put_manifest(name, tag, &media_type, &bytes)?;
    let mut response = empty(StatusCode::CREATED);
    set(&mut response, LOCATION, &format!("/v2/{name}/manifests/{digest}"));
    set(&mut response, digest_header(), digest.as_ref());
    if let Some(subject) = manifest["subject"]["digest"].as_str() {
        set(&mut response, HeaderName::from_static("oci-subject"), subject);
    }
    Ok(response)
}

/// A manifest comes last: what it names must be in the repository.
fn check_parts(store: &Store, name: &str, manifest: &Value) -> Result<(), Box<Failure>> {
    let digest = |descriptor: &Value| {
        let text = descriptor["digest"].as_str().unwrap_or_default();
        route::digest(text).map_err(|_| {
            Box::new(Failure::bad(Code::ManifestInvalid, format!("{text:?} is no SHA-256 digest")))
        })
    };
    let missing = |digest: &Digest| {
        let message = format!("{digest} is not in this repository");
        Box::new(Failure::not_found(Code::ManifestBlobUnknown, message))
    };
    if let Some(manifests) = manifest["manifests"].as_array() {
        for descriptor in manifests {
            let digest = digest(descriptor)?;
            if store.manifest_type(name, &digest).map_err(Box::new)?.is_none() {
                return Err(missing(&digest));
            }
        }
        return Ok(());
    }
    let (config, Some(layers)) = (&manifest["config"], manifest["layers"].as_array()) else {
        let message = "it has neither layers nor manifests";
        return Err(Box::new(Failure::bad(Code::ManifestInvalid, message)));
    };
    for descriptor in layers.iter().chain([config]) {
        // Layers that may not be distributed lie elsewhere.
        let elsewhere = descriptor["mediaType"]
            .as_str()
            .is_some_and(|kind| kind.contains("nondistributable") || kind.contains("foreign"));
        let digest = digest(descriptor)?;
        if !elsewhere && !store.has_blob(name, &digest) {
            return Err(missing(&digest));
        }
    }
    Ok(())
}

pub(super) fn delete(store: &Store, name: &str, reference: &Reference) -> Result<Response, Failure> {
    let gone = match reference {
        Reference::Tag(tag) => store.remove_tag(name, tag)?,
        Reference::Digest(digest) => store.remove_manifest(name, digest)?,
    };
    if gone { Ok(empty(StatusCode::ACCEPTED)) } else { Err(unknown(reference)) }
}

pub(super) fn tags(store: &Store, name: &str, request: &Request) -> Result<Response, Failure> {
    if !store.has_repository(name) {
        return Err(Failure::not_found(Code::NameUnknown, format!("there is no repository {name}")));
    }
    let page = Page::read(request)?;
    let (tags, more) = page.of(store.tags(name)?);
    let mut response = answer::json(&json!({ "name": name, "tags": tags }));
    page.link(&mut response, &format!("/v2/{name}/tags/list"), &tags, more);
    Ok(response)
}

pub(super) fn catalog(store: &Store, request: &Request) -> Result<Response, Failure> {
    let page = Page::read(request)?;
    let (names, more) = page.of(store.repositories()?);
    let mut response = answer::json(&json!({ "repositories": names }));
    page.link(&mut response, "/v2/_catalog", &names, more);
    Ok(response)
}

pub(super) fn referrers(
    store: &Store,
    name: &str,
    subject: &Digest,
    request: &Request,
) -> Result<Response, Failure> {
    let wanted = query(request.uri(), "artifactType");
    let mut manifests = Vec::new();
    for digest in store.manifests(name)? {
        let bytes = store.manifest(&digest)?;
        let Ok(manifest) = serde_json::from_slice::<Value>(&bytes) else { continue };
        if manifest["subject"]["digest"].as_str() != Some(subject.as_ref()) {
            continue;
        }
        // An image manifest without an artifact type is of the type of its configuration.
        let kind = manifest["artifactType"].as_str().or_else(|| manifest["config"]["mediaType"].as_str());
        if wanted.as_deref().is_some_and(|wanted| Some(wanted) != kind) {
            continue;
        }
        let media_type = store.manifest_type(name, &digest)?;
        let mut descriptor = json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() });
        if let Some(kind) = kind {
            descriptor["artifactType"] = json!(kind);
        }
        if manifest["annotations"].is_object() {
            descriptor["annotations"] = manifest["annotations"].clone();
        }
        manifests.push(descriptor);
    }
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    let mut response = answer::json(&index);
    set(&mut response, CONTENT_TYPE, INDEX);
    if wanted.is_some() {
        set(&mut response, HeaderName::from_static("oci-filters-applied"), "artifactType");
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
    Failure::not_found(Code::ManifestUnknown, format!("there is no manifest {what} in this repository"))
}

/// A part of a list: at most so many, after a name.
struct Page {
    count: Option<usize>,
    last: Option<String>,
}

impl Page {
    fn read(request: &Request) -> Result<Self, Failure> {
        let Query(mut values) =
            Query::<HashMap<String, String>>::try_from_uri(request.uri()).unwrap_or_default();
        let count = values.remove("n").map(|n| n.parse()).transpose();
        let count = count.map_err(|_| Failure::bad(Code::SizeInvalid, "n is a number"))?;
        Ok(Self { count, last: values.remove("last") })
    }

    /// The names of this page, and whether there are more.
    fn of(&self, names: BTreeSet<String>) -> (Vec<String>, bool) {
        let mut rest: Vec<String> =
            names.into_iter().filter(|name| self.last.as_ref().is_none_or(|last| name > last)).collect();
        let more = self.count.is_some_and(|count| rest.len() > count);
        rest.truncate(self.count.unwrap_or(usize::MAX));
        (rest, more)
    }

    /// Says where the next page is.
    fn link(&self, response: &mut Response, path: &str, names: &[String], more: bool) {
        if let (Some(count), Some(last), true) = (self.count, names.last(), more) {
            set(response, LINK, &format!("<{path}?n={count}&last={last}>; rel=\"next\""));
        }
    }
}
