//! Copies between registries, layouts and archives; mounts, and uploads that break.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use futures::future::join_all;
use oci_images::layout::{
    Artifact, Blob, File, FileMap, Image, ImageBuilder, Platform, Source, Wanted, layer, sha256,
    write_directory,
};
use oci_images::location::{Copied, Copier, Error, ImageLocation};
use oci_images::registry::{Parallel, Progress, Repository};
use oci_images::transfer::Transfer;

use crate::raw::{self, reply};
use crate::{LONG, Running, anonymous, image, options, reference};

fn copier() -> Copier {
    Copier { options: options(), resolver: anonymous(), platform: None }
}

fn place(text: impl AsRef<str>) -> ImageLocation {
    text.as_ref().parse().unwrap()
}

async fn copy(from: impl AsRef<str>, to: impl AsRef<str>) -> Result<Copied, Error> {
    copier().copy(&place(from), &place(to), &Progress::hidden()).await
}

async fn push(address: SocketAddr, name: &str, artifact: impl Into<Artifact>) {
    let name = reference(address, name);
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    repository.push(artifact, None, &Progress::hidden()).await.unwrap();
}

fn platform(text: &str) -> Platform {
    text.parse().unwrap()
}

/// An index of two images that share a layer.
fn index() -> Artifact {
    let images = ["linux/amd64", "linux/arm64"].map(|name| {
        let image = image(&[&[("shared", "everywhere")], &[("program", name)]]);
        (platform(name), Artifact::from(image))
    });
    Artifact::index(images.into(), BTreeMap::new()).unwrap()
}

/// An image with a layer of `size` bytes that do not compress.
fn large(size: usize) -> Image {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    let bytes: Vec<u8> = bytes.flatten().take(size).collect();
    let mut files = FileMap::new();
    files.add("data", File { source: Source::Bytes(bytes), executable: false }).unwrap();
    ImageBuilder { layers: vec![layer(&files, 0).unwrap()], ..ImageBuilder::default() }.build().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn index_keeps_its_digest_wherever_it_is_copied() {
    let (one, two) = (Running::start().await, Running::start().await);
    let index = index();
    push(one.address, "org/app:v1", &index).await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let places = [
        format!("{}/org/app:v1", one.address),
        format!("oci:{}", path("layout")),
        format!("oci-archive:{}", path("archive.tar")),
        format!("{}/mirror/app:v1", two.address),
        format!("oci:{}:again", path("layout")),
    ];
    for pair in places.windows(2) {
        let copied = copy(&pair[0], &pair[1]).await.unwrap();
        assert_eq!(copied.digest, index.digest().to_string(), "{pair:?}");
    }
    let copied = copy(&places[0], &places[3]).await.unwrap();
    assert_eq!((copied.sent, copied.present), (0, 5), "what is there is not sent again");
    assert_eq!(copied.name, format!("{}/mirror/app@{}", two.address, index.digest()));
    let copied = copy(&places[3], &places[1]).await.unwrap();
    assert_eq!((copied.sent, copied.present), (0, 5));
    let (read, _) = place(&places[3]).artifact(&Wanted::All, &options(), &anonymous()).await.unwrap();
    assert_eq!(read.platforms(), [platform("linux/amd64"), platform("linux/arm64")]);
}

#[tokio::test]
async fn writing_a_layout_lets_other_tasks_run() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    write_directory(&from, image(&[&[("a", "1")]]), "a:v1").unwrap();
    // Writers of a layout wait for each other.
    let lock = atomic_files::DirectoryLock::acquire(&to, LONG, |_| {}).unwrap();
    // If writing kept this thread waiting, the lock would never be released.
    let release = async { drop(lock) };
    let (from, to) = (format!("oci:{}", from.display()), format!("oci:{}", to.display()));
    let (copied, ()) = tokio::join!(copy(from, to), release);
    assert_eq!(copied.unwrap().sent, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_platform_of_an_index_is_chosen() {
    let registry = Running::start().await;
    let index = index();
    push(registry.address, "org/app:v1", &index).await;
    let directory = tempfile::tempdir().unwrap();
    let archive = format!("docker-archive:{}", directory.path().join("image.tar").display());
    let source = format!("{}/org/app:v1", registry.address);
    let error = copy(&source, &archive).await.unwrap_err().to_string();
    assert!(error.contains("for one only"), "{error}");
    assert!(!directory.path().join("image.tar").exists());

    let mut chosen = copier();
    chosen.platform = Some(platform("linux/arm64"));
    let copied = chosen.copy(&place(&source), &place(&archive), &Progress::hidden()).await.unwrap();
    assert_eq!(copied.digest, index.children()[1].digest().to_string());
    let target = format!("{}/other:v1", registry.address);
    assert_eq!(copy(&archive, &target).await.unwrap().digest, copied.digest);

    chosen.platform = Some(platform("linux/s390x"));
    let error = chosen.copy(&place(&source), &place(&target), &Progress::hidden()).await.unwrap_err();
    assert!(
        error.to_string().ends_with("no image for linux/s390x; found: linux/amd64, linux/arm64"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_are_mounted_within_a_registry() {
    let registry = Running::start().await;
    push(registry.address, "org/app:v1", index()).await;
    let source = format!("{}/org/app:v1", registry.address);
    let copied = copy(&source, format!("{}/mirror/app:v1", registry.address)).await.unwrap();
    assert_eq!((copied.mounted, copied.sent), (5, 0));
    let by_digest = format!("{}/mirror/third@{}", registry.address, copied.digest);
    assert_eq!(copy(&source, &by_digest).await.unwrap().name, by_digest);
    let wrong = format!("{}/mirror/third@sha256:{}", registry.address, "0".repeat(64));
    let error = copy(&source, &wrong).await.unwrap_err().to_string();
    assert!(error.contains("digest"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_that_fails_leaves_nothing() {
    let registry = Running::start().await;
    push(registry.address, "org/app:v1", large(100_000)).await;
    let blobs = registry.directory.path().join("blobs/sha256");
    // Every blob is replaced by one of the same size.
    for entry in std::fs::read_dir(blobs).unwrap() {
        let path = entry.unwrap().path();
        let size = std::fs::metadata(&path).unwrap().len();
        if size > 50_000 {
            std::fs::write(path, vec![0; usize::try_from(size).unwrap()]).unwrap();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let exists = |name: &str| directory.path().join(name).exists();
    for (scheme, name) in [("oci", "layout"), ("oci-archive", "a.tar"), ("docker-archive", "d.tar")] {
        let target = format!("{scheme}:{}", directory.path().join(name).display());
        let error = copy(format!("{}/org/app:v1", registry.address), target).await.unwrap_err().to_string();
        assert!(error.contains("has the digest"), "{error}");
        assert!(!exists(name), "{name}");
    }
}

/// A proxy that ends every connection after `limit` bytes from the client. Returns its address and the number of bytes that
/// it passed on.
fn breaking_proxy(target: SocketAddr, limit: u64) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let passed = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&passed);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(target).unwrap();
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
            let count = Arc::clone(&count);
            std::thread::spawn(move || pass(client, server, limit, &count));
        }
    });
    (address, passed)
}

fn pass(mut client: TcpStream, mut server: TcpStream, limit: u64, count: &AtomicU64) {
    let mut left = limit;
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let read = u64::try_from(read).unwrap().min(left);
        if server.write_all(&buffer[..usize::try_from(read).unwrap()]).is_err() {
            break;
        }
        count.fetch_add(read, Ordering::Relaxed);
        left -= read;
        if left == 0 {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
}

#[tokio::test(flavor = "multi_thread")]
async fn upload_that_breaks_is_resumed_where_it_stopped() {
    const SIZE: usize = 12 << 20;
    let registry = Running::start().await;
    let (address, passed) = breaking_proxy(registry.address, 5 << 20);
    let image = large(SIZE);
    push(address, "org/app:v1", &image).await;
    let sent = usize::try_from(passed.load(Ordering::Relaxed)).unwrap();
    assert!(sent < SIZE + (1 << 20), "{sent} bytes were sent for {SIZE}");
    let (read, _) = place(format!("{}/org/app:v1", registry.address))
        .image(&Platform::default(), &options(), &anonymous())
        .await
        .unwrap();
    assert_eq!(read.digest(), image.digest());
}

#[tokio::test(flavor = "multi_thread")]
async fn upload_that_was_opened_instead_of_a_mount_is_used() {
    let image = image(&[&[("a", "1")]]);
    let served = image.clone();
    // Has the image in `a`, and mounts nothing. Uploads with an odd number expire before they are used.
    let expiring = Arc::new(AtomicBool::new(false));
    let (expires, opened) = (Arc::clone(&expiring), AtomicUsize::new(0));
    let (address, log) = raw::serve(None, move |_, request| {
        let path = request.path.split('?').next().unwrap();
        let last = path.rsplit('/').next().unwrap();
        let bytes = |blob: &Blob| {
            let mut bytes = Vec::new();
            blob.open().unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        };
        match (request.method.as_str(), path) {
            (_, "/v2/") => reply(200, &[], b"{}"),
            ("HEAD", path) if path.starts_with("/v2/b/blobs/") => reply(404, &[], b""),
            ("HEAD", _) => reply(200, &[("docker-content-digest", served.digest().as_ref())], b""),
            ("POST", _) => {
                let number = opened.fetch_add(1, Ordering::SeqCst);
                reply(202, &[("location", &format!("/v2/b/blobs/uploads/{number}"))], b"")
            }
            ("PUT", path)
                if path.contains("/uploads/")
                    && expires.load(Ordering::SeqCst)
                    && last.ends_with(['1', '3', '5', '7', '9']) =>
            {
                reply(404, &[], b"")
            }
            ("PUT", _) => reply(201, &[], b""),
            (_, path) if path.contains("/manifests/") => reply(200, &[], &bytes(served.manifest())),
            _ => match served.blobs().find(|blob| blob.digest().as_ref() == last) {
                Some(blob) => reply(200, &[], &bytes(blob)),
                None => reply(404, &[], b""),
            },
        }
    })
    .await;
    let (from, to) = (reference(address, "a:v1"), reference(address, "b:v1"));
    let source = Repository::for_reading(&from, &options(), &anonymous()).await.unwrap();
    let copy = async || {
        let target = Repository::for_copying(&to, Some(&from), &options(), &anonymous()).await.unwrap();
        let artifact = source.artifact(&Wanted::All).await.unwrap();
        let before = log.count("/b/blobs/uploads/?");
        assert_eq!(target.push(artifact, Some(&source), &Progress::hidden()).await.unwrap().sent, 2);
        log.count("/b/blobs/uploads/?") - before
    };
    assert_eq!(copy().await, 2, "one for each blob");
    expiring.store(true, Ordering::SeqCst);
    assert_eq!(copy().await, 3, "and another one for an upload that is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn mount_refused_falls_back_to_upload() {
    for status in [400, 401, 403, 404, 405, 422] {
        let image = image(&[&[("a", "1")]]);
        let served = image.clone();
        let pushed: Mutex<HashMap<String, String>> = Mutex::default();
        let (address, log) = raw::serve(None, move |_, request| {
            let path = request.path.split('?').next().unwrap();
            let last = path.rsplit('/').next().unwrap();
            let bytes = |blob: &Blob| {
                let mut bytes = Vec::new();
                blob.open().unwrap().read_to_end(&mut bytes).unwrap();
                bytes
            };
            match (request.method.as_str(), path) {
                (_, "/v2/") => reply(200, &[], b"{}"),
                ("HEAD", path) if path.starts_with("/v2/b/") => match pushed.lock().unwrap().get(path) {
                    Some(digest) => reply(200, &[("docker-content-digest", digest)], b""),
                    None => reply(404, &[], b""),
                },
                ("HEAD", _) => reply(200, &[("docker-content-digest", served.digest().as_ref())], b""),
                ("POST", _) if request.path.contains("mount=") => reply(status, &[], b""),
                ("POST", _) => reply(202, &[("location", "/v2/b/blobs/uploads/1")], b""),
                ("PUT", path) => {
                    let digest = sha256(&request.body).to_string();
                    pushed.lock().unwrap().insert(path.to_owned(), digest);
                    reply(201, &[], b"")
                }
                (_, path) if path.contains("/manifests/") => reply(200, &[], &bytes(served.manifest())),
                _ => match served.blobs().find(|blob| blob.digest().as_ref() == last) {
                    Some(blob) => reply(200, &[], &bytes(blob)),
                    None => reply(404, &[], b""),
                },
            }
        })
        .await;
        let mut one_by_one = copier();
        // One blob after the other: the first refusal is enough.
        one_by_one.options.parallel = Parallel(1);
        let [from, to] = ["a:v1", "b:v1"].map(|name| ImageLocation::Registry(reference(address, name)));
        let copied = one_by_one.copy(&from, &to, &Progress::hidden()).await.unwrap();
        assert_eq!((copied.sent, copied.mounted), (2, 0), "{status}");
        assert_eq!(log.count("mount="), 1, "{status}");

        // As `mirror` copies, and as `push --base` sends the layers of the base.
        let transfer = Transfer::new(one_by_one.options.clone(), anonymous(), false);
        let mirror = ImageLocation::Registry(reference(address, "b:v2"));
        let mirrored = transfer.copy(&from, &mirror, true, &Progress::hidden()).await.unwrap();
        assert!(mirrored.is_new && log.count("mount=") == 2, "{status}");
        let [base, name] = ["a:v1", "b:v3"].map(|name| reference(address, name));
        let base = Repository::for_reading(&base, &one_by_one.options, &anonymous()).await.unwrap();
        let extended = ImageBuilder {
            base: Some(base.image(&Platform::default()).await.unwrap()),
            user: Some("1".to_owned()),
            ..ImageBuilder::default()
        };
        let target =
            Repository::for_writing_on(&name, Some(base.reference()), &one_by_one.options, &anonymous())
                .await
                .unwrap();
        let pushed = target.push(&extended.build().unwrap(), Some(&base), &Progress::hidden()).await.unwrap();
        assert_eq!((pushed.sent, pushed.mounted), (2, 0), "{status}");
        assert_eq!(log.count("mount="), 3, "{status}");
    }
}

/// Serves an index and the manifests of its images but the last one, which the registry does not have.
async fn sparse(index: &Artifact) -> SocketAddr {
    let served = index.clone();
    let (address, _) = raw::serve(None, move |_, request| {
        let last = request.path.rsplit('/').next().unwrap();
        let (missing, images) = served.children().split_last().unwrap();
        let root = std::iter::once(served.manifest()).filter(|_| last == "v1");
        let blobs = images.iter().flat_map(|image| image.blobs().iter().chain([image.manifest()]));
        let found = root.chain(blobs).find(|blob| last == "v1" || blob.digest().as_ref() == last);
        assert!(
            !request.path.contains("/blobs/") || !missing.all_blobs().contains_key(last) || found.is_some()
        );
        match found {
            _ if request.path == "/v2/" => reply(200, &[], b"{}"),
            None => reply(404, &[], b""),
            Some(blob) => {
                let mut bytes = Vec::new();
                blob.open().unwrap().read_to_end(&mut bytes).unwrap();
                reply(200, &[], &bytes)
            }
        }
    })
    .await;
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn platform_of_sparse_index_is_copied_without_reading_the_others() {
    let index = index();
    let address = sparse(&index).await;
    let directory = tempfile::tempdir().unwrap();
    let layout = format!("oci:{}", directory.path().join("layout").display());
    let from = place(format!("{address}/org/app:v1"));
    let mut chosen = copier();
    chosen.platform = Some(platform("linux/amd64"));
    let copied = chosen.copy(&from, &place(layout), &Progress::hidden()).await.unwrap();
    assert_eq!(copied.digest, index.children()[0].digest().to_string());
    // The index as a whole is incomplete.
    let archive = format!("oci-archive:{}", directory.path().join("a.tar").display());
    let error = copier().copy(&from, &place(&archive), &Progress::hidden()).await.unwrap_err();
    assert!(error.to_string().contains("not found"), "{error}");
    // Whoever lists the images gets those that are there.
    let (read, _) = from.artifact(&Wanted::Available, &options(), &anonymous()).await.unwrap();
    assert_eq!(read.children().iter().map(Artifact::is_read).collect::<Vec<_>>(), [true, false]);
    assert_eq!(read.platforms(), index.platforms());
}

#[tokio::test(flavor = "multi_thread")]
async fn schema_1_manifest_is_named() {
    let manifest = br#"{"schemaVersion":1,"name":"a","tag":"v1","fsLayers":[],"history":[],"signatures":[]}"#;
    let (address, _) = raw::serve(None, |_, _| reply(200, &[], manifest)).await;
    let error = copy(format!("{address}/a:v1"), "oci:x").await.unwrap_err().to_string();
    assert!(error.contains("Docker image manifest schema 1 is not supported"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_over_a_file_of_its_source_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    write_directory(&directory.path().join("layout"), image(&[&[("a", "1")]]), "a:v1").unwrap();
    let layout = format!("oci:{}", path("layout"));
    copy(&layout, format!("oci-archive:{}", path("a.tar"))).await.unwrap();
    std::os::unix::fs::symlink("layout", directory.path().join("link")).unwrap();
    let index = std::fs::read(directory.path().join("layout/index.json")).unwrap();
    let archive = std::fs::read(directory.path().join("a.tar")).unwrap();
    for (from, to) in [
        (layout.clone(), format!("docker-archive:{}", path("layout/index.json"))),
        (layout.clone(), format!("oci-archive:{}", path("link/blobs/new.tar"))),
        (format!("oci-archive:{}", path("a.tar")), format!("docker-archive:{}", path("a.tar"))),
    ] {
        let error = copy(&from, &to).await.unwrap_err();
        assert!(matches!(error, Error::Overlap { .. }), "{from} {to}: {error}");
    }
    assert_eq!(std::fs::read(directory.path().join("layout/index.json")).unwrap(), index);
    assert_eq!(std::fs::read(directory.path().join("a.tar")).unwrap(), archive);
}

/// A registry with one large blob, of which it returns the second half when `half` is notified.
async fn halved(image: &Image, half: Arc<tokio::sync::Notify>) -> SocketAddr {
    let served = image.clone();
    let handle = move |request: axum::extract::Request| {
        let (served, half) = (served.clone(), Arc::clone(&half));
        async move {
            let path = request.uri().path().to_owned();
            let last = path.rsplit('/').next().unwrap();
            let mut blobs = served.blobs().chain([served.manifest()]);
            let found = blobs.find(|blob| {
                last == "v1" && blob.digest() == served.digest() || blob.digest().as_ref() == last
            });
            let mut bytes = Vec::new();
            if let Some(blob) = found {
                blob.open().unwrap().read_to_end(&mut bytes).unwrap();
            }
            let length = bytes.len();
            let second = bytes.split_off(if length > 1 << 20 { length / 2 } else { length });
            let waits = !second.is_empty();
            let parts = futures::stream::iter([bytes]).chain(futures::stream::once(async move {
                if waits {
                    half.notified().await;
                }
                second
            }));
            let body = axum::body::Body::from_stream(parts.map(Ok::<_, std::io::Error>));
            axum::response::Response::builder().header("content-length", length).body(body).unwrap()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(handle)).await });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn large_blob_is_sent_while_it_is_fetched() {
    let half = Arc::new(tokio::sync::Notify::new());
    let image = large(6 << 20);
    let source = halved(&image, Arc::clone(&half)).await;
    let target = Running::start().await;
    let [from, to] = [source, target.address].map(|host| ImageLocation::Registry(reference(host, "a:v1")));
    let plain = copier();
    let progress = Progress::hidden();
    let mut copying = std::pin::pin!(plain.copy(&from, &to, &progress));
    let uploads = target.directory.path().join("uploads");
    let arrived = || {
        let sizes = std::fs::read_dir(&uploads).unwrap().filter_map(|file| file.ok()?.metadata().ok());
        sizes.map(|metadata| metadata.len()).sum::<u64>()
    };
    // The second half is not there before the target has some of the first one.
    let copied = tokio::time::timeout(LONG, async {
        loop {
            tokio::select! {
                copied = &mut copying => break copied.unwrap(),
                () = tokio::task::yield_now() => if arrived() > 1 << 20 {
                    half.notify_one();
                },
            }
        }
    });
    assert_eq!(copied.await.unwrap().sent, 2);
    let (read, _) = to.artifact(&Wanted::All, &options(), &anonymous()).await.unwrap();
    assert_eq!(read.digest(), image.digest());
}

#[tokio::test(flavor = "multi_thread")]
async fn large_blob_of_another_digest_is_not_passed_on() {
    let (one, two) = (Running::start().await, Running::start().await);
    push(one.address, "org/app:v1", large(6 << 20)).await;
    for entry in std::fs::read_dir(one.directory.path().join("blobs/sha256")).unwrap() {
        let path = entry.unwrap().path();
        let size = std::fs::metadata(&path).unwrap().len();
        if size > 1 << 20 {
            std::fs::write(path, vec![0; usize::try_from(size).unwrap()]).unwrap();
        }
    }
    let error = copy(format!("{}/org/app:v1", one.address), format!("{}/org/app:v1", two.address)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains(&one.address.to_string()) && error.contains("has the digest"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_blob_is_copied_after_an_interrupted_upload() {
    let (one, two) = (Running::start().await, Running::start().await);
    let image = large(12 << 20);
    push(one.address, "org/app:v1", &image).await;
    let (address, _) = breaking_proxy(two.address, 5 << 20);
    let copied = copy(format!("{}/org/app:v1", one.address), format!("{address}/org/app:v1")).await.unwrap();
    assert_eq!(copied.digest, image.digest().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn images_copied_beside_each_other_fetch_and_send_each_blob_once() {
    const IMAGES: usize = 8;
    let image = image(&[&[("a", "1")], &[("b", "2")]]);
    let served = Artifact::from(image.clone());
    let (address, log) = raw::serve(None, move |_, request| {
        let last = request.path.rsplit('/').next().unwrap();
        let blobs = served.all_blobs();
        let found = if last == "v1" { Some(served.manifest()) } else { blobs.get(last).copied() };
        match found {
            _ if request.path == "/v2/" => reply(200, &[], b"{}"),
            None => reply(404, &[], b""),
            Some(blob) => {
                let mut bytes = Vec::new();
                blob.open().unwrap().read_to_end(&mut bytes).unwrap();
                reply(200, &[], &bytes)
            }
        }
    })
    .await;
    let progress = Progress::hidden();

    // Into one layout, as `mirror` writes it.
    let directory = tempfile::tempdir().unwrap();
    let layout = directory.path().join("layout");
    let mut transfer = Transfer::new(options(), anonymous(), false);
    transfer.write_to(&layout).await.unwrap();
    let copies = (0..IMAGES).map(|number| {
        let from = place(format!("{address}/org/app{number}:v1"));
        let to = ImageLocation::Directory(layout.clone(), Some(format!("r.example.com/app{number}:v1")));
        let (transfer, progress) = (&transfer, &progress);
        async move { transfer.copy(&from, &to, true, progress).await.unwrap() }
    });
    join_all(copies).await;
    transfer.finish(None, true).await.unwrap();
    let asked = log.requests().iter().filter(|request| request.path == "/v2/").count();
    assert_eq!((log.count("/blobs/"), asked), (3, 1));

    // Into one repository.
    let registry = Running::start().await;
    let shared = options();
    let pushes = (0..IMAGES).map(|number| {
        let name = reference(registry.address, &format!("app:v{number}"));
        let (image, shared, progress) = (&image, &shared, &progress);
        async move {
            let repository = Repository::for_writing(&name, shared, &anonymous()).await.unwrap();
            repository.push(image, None, progress).await.unwrap().sent
        }
    });
    assert_eq!(join_all(pushes).await.into_iter().sum::<usize>(), 3);
}
