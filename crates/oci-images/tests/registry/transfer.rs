//! The client against this crate's registry.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use oci_images::layout::{Contents, Image, ImageBuilder, Platform, open_directory, write_directory};
use oci_images::location::{Copier, ImageLocation};
use oci_images::registry::{Deadline, Error, Options, Progress, Remedy, Repository, Timeout, pull};

use crate::{LONG, Running, anonymous, image, options, raw, reference};

#[tokio::test(flavor = "multi_thread")]
async fn image_is_pushed_and_pulled() {
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
async fn base_is_fetched_only_if_the_registry_lacks_it() {
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
    let index = ImageBuilder { base: Some(base), ..ImageBuilder::default() }.build().unwrap();
    let target = reference(registry.address, "catalog:v1");
    let catalog = Repository::for_writing(&target, &options(), &anonymous()).await.unwrap();
    let pushed = catalog.push(&index, Some(&base_repository), &Progress::hidden()).await.unwrap();
    assert_eq!(pushed.sent, 2);

    // Where the base may be read, the registry mounts its layers.
    let other = reference(registry.address, "other:v1");
    let base_name = Some(base_repository.reference());
    let other = Repository::for_writing_on(&other, base_name, &options(), &anonymous()).await.unwrap();
    let extended =
        ImageBuilder { base: Some(index.clone()), user: Some("1".to_owned()), ..ImageBuilder::default() }
            .build()
            .unwrap();
    let mounted = other.push(&extended, None, &Progress::hidden()).await.unwrap();
    assert_eq!((mounted.mounted, mounted.sent), (1, 1), "the configuration is new");

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
async fn timeout_begins_with_the_connection_unless_it_is_a_shared_deadline() {
    let registry = Running::start().await;
    let name = reference(registry.address, "a:v1");
    let mut options = options();
    options.timeout = Timeout::After(LONG);
    let push = async |options: &Options| {
        let repository = Repository::for_writing(&name, options, &anonymous()).await?;
        repository.push(&image(&[&[("a", "1")]]), None, &Progress::hidden()).await
    };
    push(&options).await.unwrap();
    // Unless several share it.
    options.timeout = Timeout::At(Deadline::after(Duration::ZERO));
    let error = push(&options).await.unwrap_err();
    assert!(matches!(error, Error::Expired { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_with_the_same_options_share_connections_and_the_question_for_a_login() {
    let (address, log) = raw::serve(None, |_, _| raw::reply(404, &[], b"")).await;
    let (shared, other) = (options(), options());
    for name in ["a:v1", "b:v1", "c:v1"] {
        let name = reference(address, name);
        let source = Repository::for_reading(&name, &shared.clone(), &anonymous()).await.unwrap();
        assert_eq!(source.find("v1").await.unwrap(), None);
        let target = Repository::for_writing(&name, &shared, &anonymous()).await.unwrap();
        assert_eq!(target.find("v1").await.unwrap(), None);
    }
    let pings = || log.requests().iter().filter(|request| request.path == "/v2/").count();
    assert_eq!((pings(), log.count("/manifests/")), (1, 6));
    // A request may begin before the connection of the last one is free again.
    let connections = log.connections();
    assert!(connections < 6, "{connections} connections of six repositories");
    Repository::for_reading(&reference(address, "a:v1"), &other, &anonymous()).await.unwrap();
    assert_eq!((log.connections(), pings()), (connections + 1, 2));
}

/// Compiles if the futures can be spawned.
#[expect(dead_code, reason = "it is checked by compiling it")]
fn transfers_are_send(copier: &Copier, from: &ImageLocation, repository: &Repository, image: &Image) {
    fn check(_: impl Send) {}
    let progress = Progress::hidden();
    check(copier.copy(from, from, &progress));
    check(repository.push(image, Some(repository), &progress));
    check(repository.with_layers(image.clone(), &progress));
    check(pull(repository.reference(), &copier.options, &copier.resolver, &progress));
}

#[tokio::test(flavor = "multi_thread")]
async fn push_needs_a_tag_and_a_registry() {
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
    let error = Repository::for_reading(&name, &tls, &anonymous()).await.err().unwrap();
    assert_eq!(error.remedy(), Some(Remedy::AllowPlainHttp { host: None }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_blob_is_the_reported_reason() {
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

#[tokio::test(flavor = "multi_thread")]
async fn attempts_of_a_blob_and_of_its_parts_do_not_multiply() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let handle = move |request: Request| {
        let count = Arc::clone(&count);
        async move {
            let status = match (request.method(), request.uri().path()) {
                (&Method::GET, "/v2/") => 200,
                (&Method::POST, _) => 202,
                (&Method::PATCH, _) => {
                    count.fetch_add(1, Ordering::SeqCst);
                    503
                }
                (&Method::GET, _) => 204,
                // The configuration is small, and sent in one request.
                (&Method::PUT, _) => 201,
                _ => 404,
            };
            Response::builder()
                .status(status)
                .header("location", "/v2/a/blobs/uploads/one")
                .header("range", "0-0")
                .body(Body::empty())
                .unwrap()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handle)).await });
    // Large enough for an upload that can be resumed.
    let text: String =
        (0..2_000_000_u32).map(|number| format!("{:x}", number.wrapping_mul(2_654_435_761))).collect();
    let image = image(&[&[("large", &text)]]);
    let name = reference(address, "a:v1");
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    let error = repository.push(&image, None, &Progress::hidden()).await.unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    assert_eq!(sent.load(Ordering::SeqCst), 4, "as many as the options allow");
}
