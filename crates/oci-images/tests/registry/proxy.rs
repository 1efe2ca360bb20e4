//! A registry that is a cache of another one.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use oci_images::layout::{Artifact, Contents, Image, Platform};
use oci_images::registry::server::{Error as ServerError, Options as ServerOptions, Server, Upstream};
use oci_images::registry::{Attachment, Error, Progress, Repository, pull};

use crate::http::send;
use crate::lying::{self, Lie};
use crate::{Running, anonymous, image, options, reference};

/// A cache of `registry`, which may have a path.
fn upstream(registry: &impl ToString) -> Upstream {
    Upstream { registry: registry.to_string(), options: options(), resolver: anonymous() }
}

async fn cache_of(registry: impl ToString) -> Running {
    let upstream = upstream(&registry);
    Running::start_with(|options| options.upstream = Some(upstream)).await
}

async fn push(registry: SocketAddr, name: &str, artifact: impl Into<Artifact>) -> Repository {
    let name = reference(registry, name);
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    repository.push(artifact, None, &Progress::hidden()).await.unwrap();
    repository
}

async fn pulled(registry: SocketAddr, name: &str) -> Result<Contents, Error> {
    pull(&reference(registry, name), &options(), &anonymous(), &Progress::hidden()).await
}

fn bundle(text: &str) -> Image {
    image(&[&[("manifests/a.yaml", text), ("metadata/annotations.yaml", "annotations: {}")]])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pulled_is_served_when_the_other_registry_is_gone() {
    let origin = Running::start().await;
    let (one, two) = (bundle("one"), bundle("two"));
    let repository = push(origin.address, "org/app:v1", &one).await;
    let attachment = Attachment {
        media_type: "application/spdx+json".to_owned(),
        bytes: b"{}".to_vec(),
        annotations: BTreeMap::new(),
    };
    let attached = repository.attach(one.manifest().descriptor(), attachment).await.unwrap();
    push(origin.address, "org/other:v1", &two).await;

    let cache = cache_of(origin.address).await;
    assert_eq!(pulled(cache.address, "org/app:v1").await.unwrap(), Contents::read(&one).unwrap());
    let name = reference(cache.address, "org/app:v1");
    let cached = Repository::for_reading(&name, &options(), &anonymous()).await.unwrap();
    let referrers = cached.referrers(one.digest()).await.unwrap();
    assert_eq!(referrers[0].digest, *attached.as_ref());

    // A tag that moves is followed.
    push(origin.address, "org/app:v1", &two).await;
    assert_eq!(pulled(cache.address, "org/app:v1").await.unwrap(), Contents::read(&two).unwrap());
    assert!(matches!(pulled(cache.address, "org/app:v2").await, Err(Error::NotFound { .. })));

    origin.stop().await;
    assert_eq!(pulled(cache.address, "org/app:v1").await.unwrap(), Contents::read(&two).unwrap());
    let by_digest = format!("org/app@{}", one.digest());
    assert_eq!(pulled(cache.address, &by_digest).await.unwrap(), Contents::read(&one).unwrap());
    assert_eq!(cached.referrers(one.digest()).await.unwrap(), referrers);
    let signature = format!("{}.sig", one.digest().as_ref().replace(':', "-"));
    assert_eq!(cached.find(&signature).await.unwrap(), None, "an image may have no signature");
    let error = pulled(cache.address, "org/other:v1").await.unwrap_err().to_string();
    assert!(error.contains("502") && error.contains("failed to connect"), "{error}");

    // What is stored outlives the cache, which is an ordinary registry to the next server.
    let directory = cache.stop().await;
    let again = Running::start_in(directory, |_| {}).await;
    assert_eq!(pulled(again.address, "org/app:v1").await.unwrap(), Contents::read(&two).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_cached_with_its_images_and_below_a_path() {
    let origin = Running::start().await;
    let platforms: [Platform; 2] = ["linux/amd64", "linux/arm64"].map(|platform| platform.parse().unwrap());
    let images = platforms.clone().map(|platform| {
        let text = platform.to_string();
        (platform, Artifact::from(bundle(&text)))
    });
    let index = Artifact::index(images.into()).unwrap();
    push(origin.address, "org/deep/app:v1", index.clone()).await;
    let cache = cache_of(format!("{}/org", origin.address)).await;
    let name = reference(cache.address, "deep/app:v1");
    let repository = Repository::for_reading(&name, &options(), &anonymous()).await.unwrap();
    let read = repository.artifact().await.unwrap();
    let read = repository.with_blobs(read, &Progress::hidden()).await.unwrap();
    assert_eq!(read.digest(), index.digest());
    origin.stop().await;
    for platform in platforms {
        assert!(repository.image(&platform).await.is_ok(), "{platform}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_was_deleted_is_forgotten() {
    let origin = Running::start().await;
    push(origin.address, "app:v1", bundle("one")).await;
    let cache = cache_of(origin.address).await;
    pulled(cache.address, "app:v1").await.unwrap();
    let deleted = send(origin.address, "DELETE", "/v2/app/manifests/v1", &[], b"").await;
    assert_eq!(deleted.status, 202);
    for _ in 0..2 {
        assert!(matches!(pulled(cache.address, "app:v1").await, Err(Error::NotFound { .. })));
    }
    origin.stop().await;
    let error = pulled(cache.address, "app:v1").await.unwrap_err().to_string();
    assert!(error.contains("failed to connect"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_cannot_write_to_a_cache() {
    let cache = cache_of("registry.example.com").await;
    for (method, path) in [
        ("POST", "/v2/a/blobs/uploads/"),
        ("PUT", "/v2/a/manifests/v1"),
        ("DELETE", "/v2/a/manifests/v1"),
        ("PATCH", "/v2/a/blobs/uploads/x"),
    ] {
        let answer = send(cache.address, method, path, &[], b"").await;
        assert_eq!(answer.status, 405, "{method}");
        let body = answer.text();
        let expected = "the registry is a cache of registry.example.com: push there instead";
        assert!(answer.code() == "DENIED" && body.contains(expected), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_want_the_same_blob_fetch_it_once() {
    // Does not compress to less.
    let text: String =
        (0..100_000_u32).map(|number| format!("{:x}", number.wrapping_mul(2_654_435_761))).collect();
    let image = image(&[&[("large", &text)]]);
    let (origin, log) = lying::serve(Lie::None, Some(&image)).await;
    let cache = cache_of(origin).await;
    let name = reference(cache.address, "a:v1");
    let repository = Repository::for_reading(&name, &options(), &anonymous()).await.unwrap();
    let artifact = repository.artifact().await.unwrap();
    let layer = artifact.blobs()[0].clone();
    let fetches = (0..16).map(|_| {
        let (repository, layer) = (repository.clone(), layer.clone());
        tokio::spawn(async move { repository.fetch(&layer, &Progress::hidden()).await.map(drop) })
    });
    for fetch in fetches.collect::<Vec<_>>() {
        fetch.await.unwrap().unwrap();
    }
    let line = format!("GET /v2/a/blobs/{}?", layer.digest());
    assert_eq!(log.lock().unwrap().iter().filter(|logged| **logged == line).count(), 1);
    // A part of what is stored, and one of what is not.
    let path = format!("/v2/a/blobs/{}", layer.digest());
    let part = send(cache.address, "GET", &path, &["range: bytes=1-3"], b"").await;
    assert_eq!((part.status, part.body.len()), (206, 3));
    let fresh = cache_of(origin).await;
    let same = send(fresh.address, "GET", &path, &["range: bytes=1-3"], b"").await;
    assert_eq!((same.status, same.body), (206, part.body));
    let head = send(fresh.address, "HEAD", &path, &[], b"").await;
    assert_eq!(head.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_blob_is_never_complete_and_never_stored() {
    for lie in [Lie::Changed, Lie::Shortened, Lie::Endless, Lie::BrokenOff] {
        let image = bundle("text");
        let (origin, _) = lying::serve(lie, Some(&image)).await;
        let cache = cache_of(origin).await;
        let error = pulled(cache.address, "a:v1").await.unwrap_err();
        assert!(matches!(error, Error::Failed { .. } | Error::Invalid { .. }), "{lie:?}: {error}");
        let directory = cache.stop().await;
        for part in ["uploads", "repositories/a/_blobs"] {
            let left = std::fs::read_dir(directory.path().join(part)).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{lie:?} {part}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_does_not_show_whose_login_it_uses() {
    let (origin, _) = lying::serve(Lie::Basic, Some(&bundle("text"))).await;
    let cache = cache_of(origin).await;
    let error = pulled(cache.address, "a:v1").await.unwrap_err().to_string();
    assert!(error.contains("denied access: log in to it where this registry runs"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_needs_another_registry() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry");
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    for (name, expected) in [
        ("https://quay.io".to_owned(), "without a scheme"),
        (String::new(), "expected a name"),
        (format!("127.0.0.1:{port}"), "this registry itself"),
        (format!("localhost:{port}/org"), "this registry itself"),
    ] {
        let mut options = ServerOptions::new(format!("127.0.0.1:{port}").parse().unwrap(), &path);
        options.upstream = Some(upstream(&name));
        let error = Server::bind(options).await.unwrap_err();
        assert!(matches!(error, ServerError::Upstream { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{name}: {error}");
        assert!(!path.exists());
    }
}
