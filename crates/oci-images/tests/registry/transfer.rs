//! The client against this crate's registry.

use std::fs;

use oci_images::layout::{Contents, Platform, open_directory, write_directory};
use oci_images::registry::{Error, Progress, Repository, pull};

use crate::{Running, anonymous, image, options, reference};

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_pushed_and_pulled() {
    let registry = Running::start().await;
    let image = image(&[
        &[("manifests/csv.yaml", "kind: ClusterServiceVersion")],
        &[("metadata/annotations.yaml", "annotations: {}")],
    ]);
    let reference = reference(registry.address, "org/gizmo-bundle:v1");
    let repository = Repository::for_writing(&reference, &options(), &anonymous()).await.unwrap();
    let pushed = repository.push(&image, None, &Progress::hidden()).await.unwrap();
    let by_digest = format!("{}/org/gizmo-bundle@{}", registry.address, image.digest());
    assert_eq!((pushed.reference.as_str(), pushed.sent, pushed.present), (by_digest.as_str(), 3, 0));
    let again = repository.push(&image, None, &Progress::hidden()).await.unwrap();
    assert_eq!((again.sent, again.present), (0, 3), "only what is missing is sent");

    for name in [reference, by_digest.parse().unwrap()] {
        let contents = pull(&name, &options(), &anonymous(), &Progress::hidden()).await.unwrap();
        assert_eq!(contents, Contents::read(&image).unwrap());
        assert_eq!(contents.files["manifests/csv.yaml"], b"kind: ClusterServiceVersion");
        assert_eq!(contents.digest, image.digest().to_string());
    }
    registry.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_is_fetched_only_if_the_registry_lacks_it() {
    let registry = Running::start().await;
    let base = image(&[&[("bin/opm", "a program")]]);
    let base_name = reference(registry.address, "opm:v1");
    let repository = Repository::for_writing(&base_name, &options(), &anonymous()).await.unwrap();
    repository.push(&base, None, &Progress::hidden()).await.unwrap();

    let base_repository = Repository::for_reading(&base_name, &options(), &anonymous()).await.unwrap();
    let base = base_repository.image(&Platform::default()).await.unwrap();
    assert!(
        base.layers().iter().all(|layer| !layer.is_present()),
        "layers are not fetched before they are needed"
    );
    let index = oci_images::layout::Recipe { base: Some(base), ..Default::default() }.build().unwrap();
    let target = reference(registry.address, "catalog:v1");
    let catalog = Repository::for_writing(&target, &options(), &anonymous()).await.unwrap();
    let pushed = catalog.push(&index, Some(&base_repository), &Progress::hidden()).await.unwrap();
    assert_eq!(pushed.sent, 2);

    // The registry has everything now: a push works without a base to fetch from.
    let pushed = catalog.push(&index, None, &Progress::hidden()).await.unwrap();
    assert_eq!(pushed.present, 2);

    let directory = tempfile::tempdir().unwrap();
    let whole = base_repository.with_layers(index.clone(), &Progress::hidden()).await.unwrap();
    write_directory(directory.path(), &whole, "catalog:v1").unwrap();
    let read = open_directory(directory.path()).unwrap().image(None, &Platform::default()).unwrap();
    assert_eq!(read.digest(), index.digest());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_needs_a_tag_and_a_registry() {
    let registry = Running::start().await;
    let address = registry.address;
    let image = image(&[&[("a", "1")]]);
    let by_digest = reference(address, &format!("a@{}", image.digest()));
    let error = Repository::for_writing(&by_digest, &options(), &anonymous()).await.err().unwrap();
    assert!(matches!(error, Error::PushToDigest { .. }), "{error}");
    let error =
        pull(&reference(address, "a:v1"), &options(), &anonymous(), &Progress::hidden()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
    registry.stop().await;
    let error =
        Repository::for_reading(&reference(address, "a:v1"), &options(), &anonymous()).await.err().unwrap();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_to_a_plain_registry_is_explained() {
    let registry = Running::start().await;
    let name = reference(registry.address, "a:v1");
    let mut tls = options();
    tls.plain_http = false;
    let error = Repository::for_reading(&name, &tls, &anonymous()).await.err().unwrap().to_string();
    assert!(error.contains("--plain-http"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_blob_is_the_reported_reason() {
    let registry = Running::start().await;
    let directory = tempfile::tempdir().unwrap();
    let image = image(&[&[("a", "1")]]);
    write_directory(directory.path(), &image, "a:v1").unwrap();
    let layer = image.layers()[0].digest().to_string().replace("sha256:", "blobs/sha256/");
    fs::write(directory.path().join(layer), vec![0; usize::try_from(image.layers()[0].size()).unwrap()])
        .unwrap();
    let damaged = open_directory(directory.path()).unwrap().image(None, &Platform::default()).unwrap();
    let name = reference(registry.address, "a:v1");
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    let error = repository.push(&damaged, None, &Progress::hidden()).await.unwrap_err();
    assert!(matches!(error, Error::Layout(_)), "{error}");
    assert!(error.to_string().contains(image.layers()[0].digest().as_ref()), "{error}");
}
