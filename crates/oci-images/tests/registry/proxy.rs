//! A registry that is a cache of another one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oci_images::layout::{Artifact, Contents, Image, Platform, Wanted, sha256};
use oci_images::registry::server::{Error as ServerError, Options as ServerOptions, Server, Upstream};
use oci_images::registry::{Attachment, Error, Progress, Repository, Timeout, pull};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::http::{send, send_raw};
use crate::lying::{self, Lie};
use crate::raw::{self, close, reply};
use crate::{LONG, Running, anonymous, image, options, reference};

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
async fn cache_serves_pulled_images_without_its_upstream() {
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
async fn index_is_cached_with_its_images_and_below_a_path() {
    let origin = Running::start().await;
    let platforms: [Platform; 2] = ["linux/amd64", "linux/arm64"].map(|platform| platform.parse().unwrap());
    let images = platforms.clone().map(|platform| {
        let text = platform.to_string();
        (platform, Artifact::from(bundle(&text)))
    });
    let index = Artifact::index(images.into(), BTreeMap::new()).unwrap();
    push(origin.address, "org/deep/app:v1", index.clone()).await;
    let cache = cache_of(format!("{}/org", origin.address)).await;
    let name = reference(cache.address, "deep/app:v1");
    let repository = Repository::for_reading(&name, &options(), &anonymous()).await.unwrap();
    let read = repository.artifact(&Wanted::All).await.unwrap();
    let read = repository.with_blobs(read, &Progress::hidden()).await.unwrap();
    assert_eq!(read.digest(), index.digest());
    origin.stop().await;
    for platform in platforms {
        assert!(repository.image(&platform).await.is_ok(), "{platform}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tag_that_was_deleted_is_forgotten() {
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
        let body = answer.body_text();
        let expected = "the registry is a cache of registry.example.com: push there instead";
        assert!(answer.code() == "UNSUPPORTED" && body.contains(expected), "{body}");
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
    let artifact = repository.artifact(&Wanted::All).await.unwrap();
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
async fn wrong_blob_is_never_complete_and_never_stored() {
    for lie in [Lie::Changed, Lie::Shortened, Lie::Endless, Lie::BrokenOff] {
        let image = bundle("text");
        let (origin, _) = lying::serve(lie, Some(&image)).await;
        let cache = cache_of(origin).await;
        let error = pulled(cache.address, "a:v1").await.unwrap_err();
        assert!(matches!(error, Error::Failed { .. } | Error::Invalid { .. }), "{lie:?}: {error}");
        let directory = cache.stop().await;
        for part in ["uploads", "repositories/a/_blobs"] {
            let left = || std::fs::read_dir(directory.path().join(part)).map_or(0, Iterator::count);
            // The client may know first that the download has failed.
            let removed = async {
                while left() > 0 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            assert!(tokio::time::timeout(LONG, removed).await.is_ok(), "{lie:?} {part}: {}", left());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blob_is_never_assembled_from_two_attempts() {
    let content = vec![b'b'; 200_000];
    let path = format!("/v2/a/blobs/{}", sha256(&content));
    let length = content.len();
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    let begun = Arc::new(AtomicBool::new(false));
    let has_begun = Arc::clone(&begun);
    let (origin, _) = raw::serve(None, move |_, request| {
        if !request.path.contains("/blobs/") {
            return reply(200, &[], b"{}");
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").into_bytes();
        if request.method == "HEAD" {
            return close(&head);
        }
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            return close(&[head, vec![b'a'; 100_000]].concat());
        }
        // Until the client has the first bytes of the first attempt.
        let waiting = Instant::now();
        while !has_begun.load(Ordering::SeqCst) && waiting.elapsed() < LONG {
            tokio::task::block_in_place(|| std::thread::sleep(Duration::from_millis(10)));
        }
        close(&[head, vec![b'b'; length]].concat())
    })
    .await;
    let cache = cache_of(origin).await;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", cache.address);
    let mut stream = TcpStream::connect(cache.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let end_of_head =
        |answer: &[u8]| answer.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4);
    // A connection that is cut ends the answer, too.
    while stream.read_buf(&mut answer).await.is_ok_and(|count| count > 0) {
        if end_of_head(&answer).is_some_and(|body| body < answer.len()) {
            begun.store(true, Ordering::SeqCst);
        }
    }
    let body = end_of_head(&answer).unwrap();
    let body = &answer[body..];
    assert!(body.starts_with(b"a") && body.iter().all(|byte| *byte == b'a'), "{} bytes", body.len());
    assert!(body.len() < length, "the client must see that the blob is not complete");
    // What is stored is the second attempt.
    let stored = send(cache.address, "GET", &path, &[], b"").await;
    assert!(stored.status == 200 && stored.body == content);
    assert_eq!(attempts.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn referrers_are_fetched_page_by_page() {
    let origin = Running::start().await;
    let image = bundle("one");
    push(origin.address, "app:v1", &image).await;
    let subject = image.manifest().descriptor();
    let mut expected = Vec::new();
    for number in 0..230 {
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "artifactType": "application/x",
            "manifests": [],
            "subject": subject,
            "annotations": {"number": number.to_string()},
        });
        let bytes = manifest.to_string().into_bytes();
        let digest = sha256(&bytes).to_string();
        let path = format!("/v2/app/manifests/{digest}");
        let kind = ["content-type: application/vnd.oci.image.index.v1+json"];
        assert_eq!(send(origin.address, "PUT", &path, &kind, &bytes).await.status, 201);
        if number == 7 {
            // Its bytes do not have its digest any more.
            let file = origin.directory.path().join("blobs/sha256").join(digest.replace("sha256:", ""));
            std::fs::write(file, [&bytes, &b"\n"[..]].concat()).unwrap();
        } else {
            expected.push(digest);
        }
    }
    expected.sort();
    let cache = cache_of(origin.address).await;
    let name = reference(cache.address, "app:v1");
    let cached = Repository::for_reading(&name, &options(), &anonymous()).await.unwrap();
    let listed = cached.referrers(image.digest()).await.unwrap();
    let found: Vec<String> = listed.into_iter().map(|referrer| referrer.digest).collect();
    assert!(found == expected, "{} of {}", found.len(), expected.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_that_does_not_finish_ends_at_the_time_limit() {
    // Each part counts as progress; the blob is never complete.
    let (origin, _) = raw::serve(None, |_, request| match request.method.as_str() {
        "HEAD" => close(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n"),
        _ if request.path.contains("/blobs/") => {
            let length = ("content-length", "1000000000");
            raw::endless(200, &[length], &vec![b'x'; 64 << 10], Duration::from_millis(10))
        }
        _ if request.path.contains("/manifests/") => raw::endless(200, &[], b" ", Duration::from_millis(10)),
        _ => reply(200, &[], b"{}"),
    })
    .await;
    let mut upstream = upstream(&origin);
    upstream.options.timeout = Timeout::After(Duration::from_secs(1));
    let cache = Running::start_with(|options| options.upstream = Some(upstream)).await;
    let digest = sha256(b"x");
    let manifest = send(cache.address, "GET", &format!("/v2/a/manifests/{digest}"), &[], b"").await;
    assert!(
        manifest.status == 502 && manifest.body_text().contains("total timeout of 1 s"),
        "{}",
        manifest.body_text()
    );
    let request =
        format!("GET /v2/a/blobs/{digest} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", cache.address);
    let blob = send_raw(cache.address, request.as_bytes()).await;
    assert!(blob.len() < 1_000_000_000, "it is broken off");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_that_comes_back_is_rejected() {
    // Forwards the header of a cache to the cache, as a proxy in front of it does.
    let cache = Arc::new(std::sync::Mutex::new(None));
    let target = Arc::clone(&cache);
    let (origin, log) = raw::serve(None, move |_, request| {
        let (Some(address), Some(via)) = (*target.lock().unwrap(), request.header("via")) else {
            return reply(500, &[], b"");
        };
        let lines = [
            format!("{} {} HTTP/1.1", request.method, request.path),
            format!("host: {address}"),
            format!("via: 1.0 other, {via}"),
            "connection: close\r\n\r\n".to_owned(),
        ];
        let answer = tokio::task::block_in_place(|| {
            let mut stream = crate::http::connect(address);
            std::io::Write::write_all(&mut stream, lines.join("\r\n").as_bytes()).unwrap();
            crate::http::read_to_close(stream)
        });
        close(&answer)
    })
    .await;
    let running = cache_of(origin).await;
    *cache.lock().unwrap() = Some(running.address);
    let answer = send(running.address, "GET", "/v2/a/manifests/v1", &[], b"").await;
    assert_eq!(answer.status, 502);
    assert!(answer.body_text().contains("is this registry itself"), "{}", answer.body_text());
    assert_eq!(log.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_does_not_show_whose_login_it_uses() {
    let (origin, _) = lying::serve(Lie::Basic, Some(&bundle("text"))).await;
    let cache = cache_of(origin).await;
    let error = pulled(cache.address, "a:v1").await.unwrap_err().to_string();
    assert!(error.contains("denied access: log in to it on the machine that runs this registry"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_needs_another_registry() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry");
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    for (name, expected) in [
        ("https://quay.io".to_owned(), "without a scheme"),
        ("alice:hunter2@quay.io".to_owned(), "without a scheme or a user"),
        (String::new(), "expected a name"),
        (format!("127.0.0.1:{port}"), "this registry itself"),
        (format!("localhost:{port}/org"), "this registry itself"),
    ] {
        let mut options = ServerOptions::new(format!("127.0.0.1:{port}").parse().unwrap(), &path);
        options.upstream = Some(upstream(&name));
        let error = Server::bind(options).await.unwrap_err();
        assert!(matches!(error, ServerError::Upstream { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{name}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(!path.exists());
    }
    // What no answer can change is an error at once.
    let mut options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), &path);
    let mut unusable = upstream(&"quay.io");
    unusable.options.ca_files = vec![path.clone()];
    options.upstream = Some(unusable);
    let error = Server::bind(options).await.unwrap_err().to_string();
    assert!(
        error.starts_with("cannot be a cache of `quay.io`: failed to read certificates from "),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn blob_of_another_digest_is_an_error_before_its_first_byte() {
    // The other registry returns what it was not asked for: nothing, or something of the same size.
    for content in ["", "lies"] {
        let (address, _) = raw::serve(None, move |_, request| {
            if request.path == "/v2/" { reply(200, &[], b"{}") } else { reply(200, &[], content.as_bytes()) }
        })
        .await;
        let cache = cache_of(address).await;
        let path = format!("/v2/a/blobs/{}", sha256(b"true"));
        // A part without the last byte, for which the digest is not verified otherwise.
        let range = if content.is_empty() { &[][..] } else { &["range: bytes=0-1"] };
        let response = send(cache.address, "GET", &path, range, b"").await;
        assert_eq!(response.status, 502, "{content}: {}", response.body_text());
        assert!(response.body_text().contains("digest"), "{}", response.body_text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_blob_and_part_of_blob_are_served() {
    let origin = Running::start().await;
    for content in ["", "true"] {
        let path = format!("/v2/a/blobs/uploads/?digest={}", sha256(content.as_bytes()));
        assert_eq!(send(origin.address, "POST", &path, &[], content.as_bytes()).await.status, 201);
    }
    let cache = cache_of(origin.address).await;
    let empty = send(cache.address, "GET", &format!("/v2/a/blobs/{}", sha256(b"")), &[], b"").await;
    assert_eq!((empty.status, empty.body_text()), (200, String::new()));
    let path = format!("/v2/a/blobs/{}", sha256(b"true"));
    let part = send(cache.address, "GET", &path, &["range: bytes=0-1"], b"").await;
    assert_eq!((part.status, part.body_text()), (206, "tr".to_owned()));
}
