//! The registry, spoken to by hand: what the distribution specification 1.1 asks of it.

use std::net::SocketAddr;

use oci_images::layout::sha256;
use oci_images::registry::server::{Error, Server};
use serde_json::{Value, json};

use crate::Running;
use crate::hand::{Answer, send};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

async fn upload(address: SocketAddr, name: &str, bytes: &[u8]) -> String {
    let digest = sha256(bytes).to_string();
    let path = format!("/v2/{name}/blobs/uploads/?digest={digest}");
    assert_eq!(send(address, "POST", &path, &[], bytes).await.status, 201);
    digest
}

/// A manifest whose configuration is in the repository.
async fn manifest(address: SocketAddr, name: &str, extra: &Value) -> Vec<u8> {
    let config = upload(address, name, b"{}").await;
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": { "mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": 2 },
        "layers": [],
    });
    for (key, value) in extra.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    serde_json::to_vec(&manifest).unwrap()
}

async fn put(address: SocketAddr, name: &str, reference: &str, bytes: &[u8]) -> Answer {
    let path = format!("/v2/{name}/manifests/{reference}");
    send(address, "PUT", &path, &[&format!("content-type: {MANIFEST}")], bytes).await
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_what_it_is() {
    let registry = Running::start().await;
    let answer = send(registry.address, "GET", "/v2/", &[], b"").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
    assert_eq!(answer.header("docker-distribution-api-version"), "registry/2.0");
    assert_eq!(send(registry.address, "GET", "/", &[], b"").await.status, 404);
    assert_eq!(send(registry.address, "POST", "/v2/", &[], b"").await.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_come_in_one_piece_and_go_in_ranges() {
    let registry = Running::start().await;
    let address = registry.address;
    let digest = upload(address, "a/b", b"0123456789").await;
    let path = format!("/v2/a/b/blobs/{digest}");

    let whole = send(address, "GET", &path, &[], b"").await;
    assert_eq!((whole.status, whole.body.as_slice()), (200, &b"0123456789"[..]));
    assert_eq!(whole.header("docker-content-digest"), digest);
    let head = send(address, "HEAD", &path, &[], b"").await;
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, "10", 0));

    for (range, status, body, content_range) in [
        ("bytes=2-4", 206, "234", "bytes 2-4/10"),
        ("bytes=8-", 206, "89", "bytes 8-9/10"),
        ("bytes=-1", 206, "9", "bytes 9-9/10"),
        ("bytes=0-0,2-2", 200, "0123456789", ""),
    ] {
        let part = send(address, "GET", &path, &[&format!("range: {range}")], b"").await;
        assert_eq!((part.status, part.text().as_str()), (status, body), "{range}");
        assert_eq!(part.header("content-range"), content_range, "{range}");
    }
    let outside = send(address, "GET", &path, &["range: bytes=10-"], b"").await;
    assert_eq!((outside.status, outside.header("content-range")), (416, "bytes */10"));

    // A blob belongs to a repository, although the content is stored once.
    let other = send(address, "HEAD", &format!("/v2/other/blobs/{digest}"), &[], b"").await;
    assert_eq!(other.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_come_in_chunks() {
    let registry = Running::start().await;
    let address = registry.address;
    let begun = send(address, "POST", "/v2/a/blobs/uploads/", &[], b"").await;
    assert_eq!((begun.status, begun.header("range")), (202, "0-0"));
    let upload = begun.header("location").to_owned();

    let first = send(address, "PATCH", &upload, &["content-range: 0-2"], b"abc").await;
    assert_eq!((first.status, first.header("range")), (202, "0-2"));
    let gap = send(address, "PATCH", &upload, &["content-range: 5-6"], b"fg").await;
    assert_eq!((gap.status, gap.header("range")), (416, "0-2"));
    let wrong_length = send(address, "PATCH", &upload, &["content-range: 3-9"], b"d").await;
    assert_eq!(wrong_length.status, 416);
    let state = send(address, "GET", &upload, &[], b"").await;
    assert_eq!((state.status, state.header("range")), (204, "0-2"));
    let elsewhere = upload.replace("/v2/a/", "/v2/b/");
    assert_eq!(send(address, "GET", &elsewhere, &[], b"").await.status, 404);

    let digest = sha256(b"abcdef").to_string();
    let done =
        send(address, "PUT", &format!("{upload}?digest={digest}"), &["content-range: 3-5"], b"def").await;
    assert_eq!((done.status, done.header("location")), (201, format!("/v2/a/blobs/{digest}").as_str()));
    let whole = send(address, "GET", done.header("location"), &[], b"").await;
    assert_eq!(whole.text(), "abcdef");
    assert_eq!(send(address, "GET", &upload, &[], b"").await.code(), "BLOB_UPLOAD_UNKNOWN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_digest_leaves_nothing() {
    let registry = Running::start().await;
    let address = registry.address;
    let digest = sha256(b"right").to_string();
    let whole = send(address, "POST", &format!("/v2/a/blobs/uploads/?digest={digest}"), &[], b"wrong").await;
    assert_eq!((whole.status, whole.code().as_str()), (400, "DIGEST_INVALID"));
    let upload = send(address, "POST", "/v2/a/blobs/uploads/", &[], b"").await.header("location").to_owned();
    for query in ["", "?digest=sha256:short", "?digest=md5:d41d8cd98f00b204e9800998ecf8427e"] {
        let answer = send(address, "PUT", &format!("{upload}{query}"), &[], b"").await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "DIGEST_INVALID"), "{query}");
    }
    let answer = send(address, "PUT", &format!("{upload}?digest={digest}"), &[], b"wrong").await;
    assert_eq!(answer.code(), "DIGEST_INVALID");
    assert_eq!(send(address, "HEAD", &format!("/v2/a/blobs/{digest}"), &[], b"").await.status, 404);
    let given_up =
        send(address, "POST", "/v2/a/blobs/uploads/", &[], b"").await.header("location").to_owned();
    assert_eq!(send(address, "DELETE", &given_up, &[], b"").await.status, 204);
    let folder = registry.stop().await;
    for part in ["blobs/sha256", "uploads"] {
        assert_eq!(std::fs::read_dir(folder.path().join(part)).unwrap().count(), 0, "{part} is not empty");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_are_mounted() {
    let registry = Running::start().await;
    let address = registry.address;
    let digest = upload(address, "a", b"shared").await;
    let mounted =
        send(address, "POST", &format!("/v2/b/blobs/uploads/?mount={digest}&from=a"), &[], b"").await;
    assert_eq!(mounted.status, 201);
    assert_eq!(send(address, "HEAD", &format!("/v2/b/blobs/{digest}"), &[], b"").await.status, 200);
    let absent = sha256(b"absent");
    let begun = send(address, "POST", &format!("/v2/b/blobs/uploads/?mount={absent}&from=a"), &[], b"").await;
    assert_eq!(begun.status, 202, "an upload begins where there is nothing to mount");
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_are_checked_and_kept() {
    let registry = Running::start().await;
    let address = registry.address;
    let bytes = manifest(address, "a", &json!({})).await;
    let digest = sha256(&bytes).to_string();
    let put_answer = put(address, "a", "v1", &bytes).await;
    assert_eq!((put_answer.status, put_answer.header("docker-content-digest")), (201, digest.as_str()));
    for reference in ["v1", digest.as_str()] {
        let answer = send(address, "GET", &format!("/v2/a/manifests/{reference}"), &[], b"").await;
        assert_eq!((answer.status, &answer.body), (200, &bytes));
        assert_eq!(
            (answer.header("content-type"), answer.header("docker-content-digest")),
            (MANIFEST, digest.as_str())
        );
        let head = send(address, "HEAD", &format!("/v2/a/manifests/{reference}"), &[], b"").await;
        assert_eq!(head.header("content-length"), bytes.len().to_string());
    }
    assert_eq!(send(address, "GET", "/v2/a/manifests/v2", &[], b"").await.code(), "MANIFEST_UNKNOWN");
    assert_eq!(send(address, "GET", &format!("/v2/b/manifests/{digest}"), &[], b"").await.status, 404);

    let missing = manifest(address, "a", &json!({ "layers": [{ "digest": sha256(b"?"), "size": 1 }] })).await;
    let large = vec![b' '; (4 << 20) + 1];
    for (reference, bytes, status, code) in [
        ("v2", missing.as_slice(), 404, "MANIFEST_BLOB_UNKNOWN"),
        ("v2", b"no JSON", 400, "MANIFEST_INVALID"),
        ("v2", b"{\"schemaVersion\":2}", 400, "MANIFEST_INVALID"),
        (sha256(b"other").as_ref(), bytes.as_slice(), 400, "DIGEST_INVALID"),
        ("v2", large.as_slice(), 413, "MANIFEST_INVALID"),
    ] {
        let answer = put(address, "a", reference, bytes).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
    }
    assert_eq!(send(address, "GET", "/v2/a/manifests/v2", &[], b"").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_come_in_pages() {
    let registry = Running::start().await;
    let address = registry.address;
    assert_eq!(send(address, "GET", "/v2/a/tags/list", &[], b"").await.code(), "NAME_UNKNOWN");
    let bytes = manifest(address, "a", &json!({})).await;
    for tag in ["v2", "v10", "latest"] {
        put(address, "a", tag, &bytes).await;
    }
    let mut path = "/v2/a/tags/list?n=2".to_owned();
    let mut pages = Vec::new();
    loop {
        let answer = send(address, "GET", &path, &[], b"").await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        pages.push(body["tags"].clone());
        match answer.header("link").split_once('>') {
            Some((next, rest)) => {
                assert_eq!(rest, "; rel=\"next\"");
                path = next.trim_start_matches('<').to_owned();
            }
            None => break,
        }
    }
    assert_eq!(pages, [json!(["latest", "v10"]), json!(["v2"])]);
    let none = send(address, "GET", "/v2/a/tags/list?n=0", &[], b"").await;
    assert_eq!(none.text(), r#"{"name":"a","tags":[]}"#);
    assert_eq!(send(address, "GET", "/v2/a/tags/list?n=x", &[], b"").await.status, 400);
    let catalog = send(address, "GET", "/v2/_catalog", &[], b"").await;
    assert_eq!(catalog.text(), r#"{"repositories":["a"]}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn things_are_deleted() {
    let registry = Running::start().await;
    let address = registry.address;
    let bytes = manifest(address, "a", &json!({})).await;
    let digest = sha256(&bytes);
    put(address, "a", "one", &bytes).await;
    put(address, "a", "two", &bytes).await;
    assert_eq!(send(address, "DELETE", "/v2/a/manifests/one", &[], b"").await.status, 202);
    assert_eq!(send(address, "GET", "/v2/a/manifests/one", &[], b"").await.status, 404);
    assert_eq!(send(address, "GET", "/v2/a/manifests/two", &[], b"").await.status, 200);
    assert_eq!(send(address, "DELETE", &format!("/v2/a/manifests/{digest}"), &[], b"").await.status, 202);
    assert_eq!(send(address, "GET", "/v2/a/manifests/two", &[], b"").await.status, 404);
    assert_eq!(send(address, "DELETE", "/v2/a/manifests/two", &[], b"").await.status, 404);
    let config = format!("/v2/a/blobs/{}", sha256(b"{}"));
    assert_eq!(send(address, "DELETE", &config, &[], b"").await.status, 202);
    assert_eq!(send(address, "GET", &config, &[], b"").await.status, 404);
    assert_eq!(send(address, "DELETE", &config, &[], b"").await.code(), "BLOB_UNKNOWN");
}

#[tokio::test(flavor = "multi_thread")]
async fn referrers_are_found() {
    let registry = Running::start().await;
    let address = registry.address;
    let subject = sha256(&manifest(address, "a", &json!({})).await).to_string();
    let extra = json!({
        "artifactType": "application/example",
        "subject": { "mediaType": MANIFEST, "digest": subject, "size": 1 },
        "annotations": { "a": "b" },
    });
    let bytes = manifest(address, "a", &extra).await;
    let answer = put(address, "a", "signature", &bytes).await;
    assert_eq!(answer.header("oci-subject"), subject);
    let list = |path: String| async move {
        let answer = send(address, "GET", &path, &[], b"").await;
        assert_eq!(answer.header("content-type"), "application/vnd.oci.image.index.v1+json");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        (body["manifests"].clone(), answer.header("oci-filters-applied").to_owned())
    };
    let (all, _) = list(format!("/v2/a/referrers/{subject}")).await;
    assert_eq!(all[0]["digest"], json!(sha256(&bytes)));
    assert_eq!(
        (&all[0]["artifactType"], &all[0]["annotations"]["a"]),
        (&json!("application/example"), &json!("b"))
    );
    let (none, applied) = list(format!("/v2/a/referrers/{subject}?artifactType=other")).await;
    assert_eq!((none, applied.as_str()), (json!([]), "artifactType"));
    assert_eq!(list(format!("/v2/a/referrers/{}", sha256(b"nothing"))).await.0, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_remembers_after_a_restart() {
    let registry = Running::start().await;
    let bytes = manifest(registry.address, "a", &json!({})).await;
    put(registry.address, "a", "v1", &bytes).await;
    let folder = registry.stop().await;
    std::fs::write(folder.path().join("uploads/left-over"), "half a blob").unwrap();
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), folder.path(), false).await.unwrap();
    let address = server.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let task = tokio::spawn(server.serve(async {
        let _ = stopped.await;
    }));
    assert_eq!(send(address, "GET", "/v2/a/manifests/v1", &[], b"").await.body, bytes);
    assert!(!folder.path().join("uploads/left-over").exists());
    drop(stop);
    tokio::time::timeout(crate::LONG, task).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn it_keeps_to_this_machine_unless_told() {
    let folder = tempfile::tempdir().unwrap();
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let refused = Server::bind(everywhere, folder.path(), false).await.unwrap_err();
    assert!(matches!(refused, Error::NotLoopback(_)), "{refused}");
    assert!(Server::bind(everywhere, folder.path(), true).await.is_ok());
    let taken = Server::bind("127.0.0.1:0".parse().unwrap(), folder.path(), false).await.unwrap();
    let error = Server::bind(taken.address(), folder.path(), false).await.unwrap_err().to_string();
    assert!(error.contains(&taken.address().to_string()), "{error}");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Server::bind("127.0.0.1:0".parse().unwrap(), &file, false).await.unwrap_err().to_string();
    assert!(error.contains(&file.display().to_string()), "{error}");
}
