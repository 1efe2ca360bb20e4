//! Signatures in a registry.

use std::collections::BTreeMap;
use std::path::PathBuf;

use oci_images::layout::{self, Wanted, sha256};
use oci_images::registry::{Attachment, Error, Problem, Progress, Repository, SigningKey, VerifyingKey};
use serde_json::{Value, json};

use crate::http::send;
use crate::{Running, anonymous, image, options, reference};

fn keys(directory: &tempfile::TempDir, name: &str) -> (SigningKey, VerifyingKey) {
    let pair = rcgen::KeyPair::generate().unwrap();
    let path = |suffix: &str| -> PathBuf { directory.path().join(format!("{name}.{suffix}")) };
    std::fs::write(path("key"), pair.serialize_pem()).unwrap();
    std::fs::write(path("pub"), pair.public_key_pem()).unwrap();
    (SigningKey::read(&path("key"), "").unwrap(), VerifyingKey::read(&path("pub")).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn image_is_signed_once_by_each_key() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Running::start().await;
    let image = image(&[&[("a", "1")]]);
    let name = reference(registry.address, "org/app:v1");
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    repository.push(&image, None, &Progress::hidden()).await.unwrap();
    let ((alice, alice_public), (bob, bob_public)) = (keys(&directory, "alice"), keys(&directory, "bob"));
    assert!(repository.verify(image.digest(), &alice_public).await.unwrap().verified.is_empty());

    let tag = repository.sign(image.digest(), &alice).await.unwrap();
    assert_eq!(tag, format!("{}.sig", image.digest().as_ref().replace(':', "-")));
    let first = repository.find(&tag).await.unwrap();
    repository.sign(image.digest(), &alice).await.unwrap();
    assert_eq!(repository.find(&tag).await.unwrap(), first, "it is signed already");
    assert!(repository.verify(image.digest(), &bob_public).await.unwrap().verified.is_empty());

    repository.sign(image.digest(), &bob).await.unwrap();
    for key in [&alice_public, &bob_public] {
        let verified = repository.verify(image.digest(), key).await.unwrap().verified;
        assert_eq!(verified.len(), 2, "a tag and a sigstore bundle");
        assert_eq!(verified[0].reference, format!("{}/org/app", registry.address));
        assert!(verified[0].payload.contains(r#""type":"cosign container image signature""#));
    }
    // A signature of another image does not sign this one.
    let other = crate::image(&[&[("a", "2")]]);
    repository.at("other").push(&other, None, &Progress::hidden()).await.unwrap();
    let signatures = repository.at(&tag).artifact(&Wanted::All).await.unwrap();
    let signatures = repository.with_blobs(signatures, &Progress::hidden()).await.unwrap();
    let stolen = format!("{}.sig", other.digest().as_ref().replace(':', "-"));
    repository.at(&stolen).push(signatures, None, &Progress::hidden()).await.unwrap();
    assert!(repository.verify(other.digest(), &alice_public).await.unwrap().verified.is_empty());
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const SIGNED: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// Pushes a blob, and returns its descriptor.
async fn push_blob(registry: &Running, media_type: &str, bytes: &[u8]) -> Value {
    let digest = sha256(bytes);
    let path = format!("/v2/org/app/blobs/uploads/?digest={digest}");
    assert_eq!(send(registry.address, "POST", &path, &[], bytes).await.status, 201);
    json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() })
}

async fn put_manifest(registry: &Running, tag: &str, manifest: &Value) {
    let (path, kind) = (format!("/v2/org/app/manifests/{tag}"), format!("content-type: {MANIFEST}"));
    let put = send(registry.address, "PUT", &path, &[&kind], manifest.to_string().as_bytes()).await;
    assert_eq!(put.status, 201, "{}", put.body_text());
}

async fn get_manifest(registry: &Running, tag: &str) -> Value {
    let manifest = send(registry.address, "GET", &format!("/v2/org/app/manifests/{tag}"), &[], b"").await;
    serde_json::from_slice(&manifest.body).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_keeps_foreign_signatures() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Running::start().await;
    let image = image(&[&[("a", "1")]]);
    let name = reference(registry.address, "org/app:v1");
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    repository.push(&image, None, &Progress::hidden()).await.unwrap();
    let tag = format!("{}.sig", image.digest().as_ref().replace(':', "-"));
    let mut keyless = push_blob(&registry, SIGNED, br#"{"critical":{}}"#).await;
    keyless["annotations"] = json!({
        "dev.cosignproject.cosign/signature": "MEUCIQ==",
        "dev.sigstore.cosign/certificate": "a certificate",
        "dev.sigstore.cosign/chain": "a chain",
        "dev.sigstore.cosign/bundle": "{}",
        "com.example/other": "x",
    });
    let other = push_blob(&registry, "application/vnd.example+json", b"[]").await;
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "rootfs": { "type": "layers", "diff_ids": [keyless["digest"], other["digest"]] },
    });
    let config_type = "application/vnd.oci.image.config.v1+json";
    let config = push_blob(&registry, config_type, config.to_string().as_bytes()).await;
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": [keyless, other],
        "annotations": { "com.example/manifest": "y" },
    });
    put_manifest(&registry, &tag, &manifest).await;

    let (alice, alice_public) = keys(&directory, "alice");
    assert_eq!(repository.sign(image.digest(), &alice).await.unwrap(), tag);
    assert_eq!(repository.verify(image.digest(), &alice_public).await.unwrap().verified.len(), 2);
    let signed = get_manifest(&registry, &tag).await;
    assert_eq!(signed["layers"].as_array().unwrap().len(), 3);
    assert_eq!(signed["layers"].as_array().unwrap()[..2], [keyless.clone(), other.clone()]);
    assert_eq!(signed["annotations"], manifest["annotations"]);
    let path = format!("/v2/org/app/blobs/{}", signed["config"]["digest"].as_str().unwrap());
    let config: Value =
        serde_json::from_slice(&send(registry.address, "GET", &path, &[], b"").await.body).unwrap();
    let digest = |layer: &Value| layer["digest"].clone();
    assert_eq!(config["architecture"], "amd64");
    assert_eq!(config["rootfs"]["diff_ids"], json!([&keyless, &other, &signed["layers"][2]].map(digest)));

    // Nothing is cut off beyond the limit.
    for (count, verified) in [(100, true), (101, false)] {
        manifest["layers"] = vec![keyless.clone(); count].into();
        put_manifest(&registry, &tag, &manifest).await;
        let error = repository.sign(image.digest(), &alice).await.unwrap_err();
        assert!(matches!(error, Error::Layout(layout::Error::TooMany { limit: 100, .. })), "{error}");
        assert_eq!(get_manifest(&registry, &tag).await, manifest);
        assert_eq!(repository.verify(image.digest(), &alice_public).await.is_ok(), verified, "{count}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verification_tells_unsigned_from_other_key_from_unsupported_format() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Running::start().await;
    let (alice, alice_public) = keys(&directory, "alice");
    let (_, bob_public) = keys(&directory, "bob");
    let image = image(&[&[("a", "1")]]);
    let name = reference(registry.address, "org/app:v1");
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    repository.push(&image, None, &Progress::hidden()).await.unwrap();
    let verify = async |key| {
        let found = repository.verify(image.digest(), key).await.unwrap();
        (found.verified.len(), found.problems.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(verify(&alice_public).await, (0, vec![]));
    repository.sign(image.digest(), &alice).await.unwrap();
    assert_eq!(verify(&alice_public).await, (2, vec![]));
    assert_eq!(verify(&bob_public).await, (0, vec![Problem::OtherKey]));
    let attachment = |media_type: &str, bytes: &[u8]| Attachment {
        media_type: media_type.to_owned(),
        bytes: bytes.to_vec(),
        annotations: BTreeMap::new(),
    };
    let manifest = image.manifest().descriptor();
    repository.attach(manifest, attachment("application/vnd.cncf.notary.signature", b"{}")).await.unwrap();
    let bundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
    repository.attach(manifest, attachment(bundle, b"{}")).await.unwrap();
    let unsupported = ["Notary Project signature", "sigstore bundle of an unknown form"];
    let problems = unsupported.map(Problem::Unsupported);
    assert_eq!(verify(&bob_public).await, (0, [&[Problem::OtherKey], &problems[..]].concat()));
}
