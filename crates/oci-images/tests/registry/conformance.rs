//! The requirements of the OCI distribution specification 1.1.1 for a registry. Modules and tests are named after its
//! sections: <https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md>.

use std::net::SocketAddr;

use oci_images::layout::sha256;
use serde_json::{Value, json};

use crate::Running;
use crate::http::{Response, send};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A registry that is reached without a body or headers.
struct Client {
    registry: Running,
    address: SocketAddr,
}

impl Client {
    async fn start() -> Self {
        let registry = Running::start().await;
        let address = registry.address;
        Self { registry, address }
    }

    async fn get(&self, path: &str) -> Response {
        send(self.address, "GET", path, &[], b"").await
    }

    async fn head(&self, path: &str) -> Response {
        send(self.address, "HEAD", path, &[], b"").await
    }

    async fn delete(&self, path: &str) -> Response {
        send(self.address, "DELETE", path, &[], b"").await
    }

    async fn post(&self, path: &str) -> Response {
        send(self.address, "POST", path, &[], b"").await
    }

    /// Begins an upload and returns its location.
    async fn begin(&self, name: &str) -> String {
        let begun = self.post(&format!("/v2/{name}/blobs/uploads/")).await;
        assert_eq!((begun.status, begun.header("range")), (202, "0-0"));
        begun.header("location").to_owned()
    }

    async fn push_blob(&self, name: &str, bytes: &[u8]) -> String {
        let digest = sha256(bytes).to_string();
        let path = format!("/v2/{name}/blobs/uploads/?digest={digest}");
        assert_eq!(send(self.address, "POST", &path, &[], bytes).await.status, 201);
        digest
    }

    /// Pushes the configuration of a manifest, and returns the manifest with `extra` fields.
    async fn manifest(&self, name: &str, extra: &Value) -> Vec<u8> {
        let config = self.push_blob(name, b"{}").await;
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

    async fn put(&self, name: &str, reference: &str, media_type: &str, bytes: &[u8]) -> Response {
        let path = format!("/v2/{name}/manifests/{reference}");
        send(self.address, "PUT", &path, &[&format!("content-type: {media_type}")], bytes).await
    }

    async fn push_manifest(&self, name: &str, reference: &str, bytes: &[u8]) -> Response {
        let response = self.put(name, reference, MANIFEST, bytes).await;
        assert_eq!(response.status, 201, "{}", response.body_text());
        response
    }
}

mod api {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn determining_support() {
        let client = Client::start().await;
        let response = client.get("/v2/").await;
        assert_eq!((response.status, response.body_text().as_str()), (200, "{}"));
        assert_eq!(response.header("docker-distribution-api-version"), "registry/2.0");
        assert_eq!(client.get("/").await.status, 404);
        assert_eq!(client.post("/v2/").await.status, 405);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn error_codes() {
        let client = Client::start().await;
        let unknown = sha256(b"unknown");
        for (path, status, code) in [
            (format!("/v2/a/blobs/{unknown}"), 404, "BLOB_UNKNOWN"),
            ("/v2/a/blobs/uploads/unknown".to_owned(), 404, "BLOB_UPLOAD_UNKNOWN"),
            ("/v2/a/blobs/sha256:x".to_owned(), 400, "DIGEST_INVALID"),
            ("/v2/a/manifests/v1".to_owned(), 404, "MANIFEST_UNKNOWN"),
            ("/v2/A/manifests/v1".to_owned(), 400, "NAME_INVALID"),
            ("/v2/a/tags/list".to_owned(), 404, "NAME_UNKNOWN"),
        ] {
            let response = client.get(&path).await;
            assert_eq!((response.status, response.code().as_str()), (status, code), "{path}");
            assert_eq!(response.header("content-type"), "application/json");
        }
        assert_eq!(client.delete("/v2/a/tags/list").await.code(), "UNSUPPORTED");
    }
}

mod pull {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn pulling_manifests() {
        let client = Client::start().await;
        let bytes = client.manifest("a", &json!({})).await;
        let digest = sha256(&bytes).to_string();
        client.push_manifest("a", "v1", &bytes).await;
        for reference in ["v1", digest.as_str()] {
            let response = client.get(&format!("/v2/a/manifests/{reference}")).await;
            assert_eq!((response.status, &response.body), (200, &bytes));
            assert_eq!(response.header("content-type"), MANIFEST);
            assert_eq!(response.header("docker-content-digest"), digest);
        }
        assert_eq!(client.get("/v2/a/manifests/v2").await.status, 404);
        assert_eq!(client.get(&format!("/v2/b/manifests/{digest}")).await.status, 404);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pulling_blobs() {
        let client = Client::start().await;
        let digest = client.push_blob("a/b", b"0123456789").await;
        let path = format!("/v2/a/b/blobs/{digest}");
        let whole = client.get(&path).await;
        assert_eq!((whole.status, whole.body.as_slice()), (200, &b"0123456789"[..]));
        assert_eq!(whole.header("docker-content-digest"), digest);
        for (range, status, body, content_range) in [
            ("bytes=2-4", 206, "234", "bytes 2-4/10"),
            ("bytes=8-", 206, "89", "bytes 8-9/10"),
            ("bytes=-1", 206, "9", "bytes 9-9/10"),
            ("bytes=0-0,2-2", 200, "0123456789", ""),
        ] {
            let part = send(client.address, "GET", &path, &[&format!("range: {range}")], b"").await;
            assert_eq!((part.status, part.body_text().as_str()), (status, body), "{range}");
            assert_eq!(part.header("content-range"), content_range, "{range}");
        }
        let outside = send(client.address, "GET", &path, &["range: bytes=10-"], b"").await;
        assert_eq!((outside.status, outside.header("content-range")), (416, "bytes */10"));
        // A blob belongs to a repository, although the content is stored once.
        assert_eq!(client.get(&format!("/v2/other/blobs/{digest}")).await.status, 404);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn checking_if_content_exists_in_the_registry() {
        let client = Client::start().await;
        let bytes = client.manifest("a", &json!({})).await;
        client.push_manifest("a", "v1", &bytes).await;
        let (digest, blob) = (sha256(&bytes), sha256(b"{}"));
        for (path, size) in [
            (format!("/v2/a/blobs/{blob}"), 2),
            (format!("/v2/a/manifests/{digest}"), bytes.len()),
            ("/v2/a/manifests/v1".to_owned(), bytes.len()),
        ] {
            let response = client.head(&path).await;
            assert_eq!((response.status, response.body.len()), (200, 0), "{path}");
            assert_eq!(response.header("content-length"), size.to_string(), "{path}");
            assert!(!response.header("docker-content-digest").is_empty(), "{path}");
        }
        for path in [format!("/v2/a/blobs/{digest}"), "/v2/a/manifests/v2".to_owned()] {
            assert_eq!(client.head(&path).await.status, 404, "{path}");
        }
    }
}

mod push {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn post_then_put() {
        let client = Client::start().await;
        let upload = client.begin("a").await;
        let digest = sha256(b"content").to_string();
        let path = format!("{upload}?digest={digest}");
        let done = send(client.address, "PUT", &path, &[], b"content").await;
        assert_eq!((done.status, done.header("location")), (201, format!("/v2/a/blobs/{digest}").as_str()));
        assert_eq!(client.get(done.header("location")).await.body_text(), "content");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn single_post() {
        let client = Client::start().await;
        let digest = sha256(b"content").to_string();
        let path = format!("/v2/a/blobs/uploads/?digest={digest}");
        let done = send(client.address, "POST", &path, &[], b"content").await;
        assert_eq!((done.status, done.header("location")), (201, format!("/v2/a/blobs/{digest}").as_str()));
        assert_eq!(client.get(done.header("location")).await.body_text(), "content");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pushing_a_blob_in_chunks() {
        let client = Client::start().await;
        let upload = client.begin("a").await;
        let patch = async |range: &str, bytes: &'static [u8]| {
            send(client.address, "PATCH", &upload, &[&format!("content-range: {range}")], bytes).await
        };
        let first = patch("0-2", b"abc").await;
        assert_eq!((first.status, first.header("range")), (202, "0-2"));
        let gap = patch("5-6", b"fg").await;
        assert_eq!((gap.status, gap.header("range"), gap.header("location")), (416, "0-2", upload.as_str()));
        assert_eq!(patch("0-2", b"abc").await.status, 416, "a chunk came twice");
        assert_eq!(patch("3-9", b"d").await.status, 416, "range and length differ");
        assert_eq!(patch("x", b"d").await.status, 416);
        let state = client.get(&upload).await;
        assert_eq!((state.status, state.header("range")), (204, "0-2"));
        assert_eq!(state.header("location"), upload);
        assert_eq!(client.get(&upload.replace("/v2/a/", "/v2/b/")).await.status, 404);

        let digest = sha256(b"abcdef").to_string();
        let end = format!("{upload}?digest={digest}");
        let done = send(client.address, "PUT", &end, &["content-range: 3-5"], b"def").await;
        assert_eq!((done.status, done.header("location")), (201, format!("/v2/a/blobs/{digest}").as_str()));
        assert_eq!(client.get(done.header("location")).await.body_text(), "abcdef");
        assert_eq!(client.get(&upload).await.code(), "BLOB_UPLOAD_UNKNOWN");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn canceling_an_upload() {
        let client = Client::start().await;
        let upload = client.begin("a").await;
        assert_eq!(client.delete(&upload).await.status, 204);
        assert_eq!(client.delete(&upload).await.status, 404);
        assert_eq!(client.get(&upload).await.status, 404);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn wrong_digest_stores_nothing() {
        let client = Client::start().await;
        let digest = sha256(b"right").to_string();
        let path = format!("/v2/a/blobs/uploads/?digest={digest}");
        let whole = send(client.address, "POST", &path, &[], b"wrong").await;
        assert_eq!((whole.status, whole.code().as_str()), (400, "DIGEST_INVALID"));
        let upload = client.begin("a").await;
        for query in ["", "?digest=sha256:short", "?digest=md5:d41d8cd98f00b204e9800998ecf8427e"] {
            let response = send(client.address, "PUT", &format!("{upload}{query}"), &[], b"").await;
            assert_eq!((response.status, response.code().as_str()), (400, "DIGEST_INVALID"), "{query}");
        }
        let response = send(client.address, "PUT", &format!("{upload}?digest={digest}"), &[], b"wrong").await;
        assert_eq!(response.code(), "DIGEST_INVALID");
        assert_eq!(client.head(&format!("/v2/a/blobs/{digest}")).await.status, 404);
        let directory = client.registry.stop().await;
        for part in ["blobs/sha256", "uploads"] {
            let path = directory.path().join(part);
            assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "{part} is not empty");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn mounting_a_blob_from_another_repository() {
        let client = Client::start().await;
        let digest = client.push_blob("a", b"shared").await;
        let mounted = client.post(&format!("/v2/b/blobs/uploads/?mount={digest}&from=a")).await;
        let location = format!("/v2/b/blobs/{digest}");
        assert_eq!((mounted.status, mounted.header("location")), (201, location.as_str()));
        assert_eq!(client.head(&location).await.status, 200);
        let absent = sha256(b"absent");
        let path = format!("/v2/b/blobs/uploads/?mount={absent}");
        for path in [format!("{path}&from=a"), path] {
            let begun = client.post(&path).await;
            assert_eq!(begun.status, 202, "an upload begins if there is nothing to mount");
            assert!(begun.header("location").starts_with("/v2/b/blobs/uploads/"));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pushing_manifests() {
        let client = Client::start().await;
        let bytes = client.manifest("a", &json!({})).await;
        let digest = sha256(&bytes).to_string();
        let response = client.push_manifest("a", "v1", &bytes).await;
        assert_eq!(response.header("location"), format!("/v2/a/manifests/{digest}"));
        assert_eq!(response.header("docker-content-digest"), digest);
        client.push_manifest("a", &digest, &bytes).await;

        let index = json!({ "schemaVersion": 2, "mediaType": INDEX,
            "manifests": [{ "mediaType": MANIFEST, "digest": digest, "size": bytes.len() }] });
        let index = serde_json::to_vec(&index).unwrap();
        assert_eq!(client.put("a", "all", INDEX, &index).await.status, 201);
        assert_eq!(client.get("/v2/a/manifests/all").await.header("content-type"), INDEX);
        // A tag moves.
        client.push_manifest("a", "all", &bytes).await;
        assert_eq!(client.get("/v2/a/manifests/all").await.body, bytes);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn invalid_manifests_are_rejected() {
        let client = Client::start().await;
        let bytes = client.manifest("a", &json!({})).await;
        let layers = json!({ "layers": [{ "digest": sha256(b"?"), "size": 1 }] });
        let missing = client.manifest("a", &layers).await;
        let index = json!({ "schemaVersion": 2, "mediaType": MANIFEST, "manifests": [{ "digest": sha256(b"?"), "size": 1 }] });
        let index = serde_json::to_vec(&index).unwrap();
        let large = vec![b' '; (4 << 20) + 1];
        let deep = "[".repeat(100_000);
        for (reference, bytes, status, code) in [
            ("v2", missing.as_slice(), 404, "MANIFEST_BLOB_UNKNOWN"),
            ("v2", &index, 404, "MANIFEST_BLOB_UNKNOWN"),
            ("v2", b"not JSON", 400, "MANIFEST_INVALID"),
            ("v2", deep.as_bytes(), 400, "MANIFEST_INVALID"),
            ("v2", b"{\"schemaVersion\":2}", 400, "MANIFEST_INVALID"),
            (sha256(b"other").as_ref(), &bytes, 400, "DIGEST_INVALID"),
            ("v2", &large, 413, "MANIFEST_INVALID"),
        ] {
            let response = client.put("a", reference, MANIFEST, bytes).await;
            assert_eq!((response.status, response.code().as_str()), (status, code));
        }
        for media_type in ["text/plain", "application/json", INDEX] {
            assert_eq!(client.put("a", "v2", media_type, &bytes).await.code(), "MANIFEST_INVALID");
        }
        assert_eq!(client.get("/v2/a/manifests/v2").await.status, 404);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pushing_manifests_with_subject() {
        let client = Client::start().await;
        let subject = sha256(b"a manifest that does not exist yet").to_string();
        let extra = json!({ "subject": { "mediaType": MANIFEST, "digest": subject, "size": 1 } });
        let bytes = client.manifest("a", &extra).await;
        let response = client.push_manifest("a", "signature", &bytes).await;
        assert_eq!(response.header("oci-subject"), subject);
    }
}

mod content_discovery {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn listing_tags() {
        let client = Client::start().await;
        let bytes = client.manifest("a", &json!({})).await;
        for tag in ["v2", "v10", "latest"] {
            client.push_manifest("a", tag, &bytes).await;
        }
        let list = async |query: &str| client.get(&format!("/v2/a/tags/list{query}")).await;
        assert_eq!(list("").await.body_text(), r#"{"name":"a","tags":["latest","v10","v2"]}"#);
        assert_eq!(list("?n=0").await.body_text(), r#"{"name":"a","tags":[]}"#);
        assert_eq!(list("?last=v10").await.body_text(), r#"{"name":"a","tags":["v2"]}"#);
        assert_eq!(list("?n=x").await.status, 400);
        let first = list("?n=2").await;
        assert_eq!(first.body_text(), r#"{"name":"a","tags":["latest","v10"]}"#);
        assert_eq!(first.header("link"), "</v2/a/tags/list?n=2&last=v10>; rel=\"next\"");
        let second = list("?n=2&last=v10").await;
        assert_eq!(
            (second.body_text().as_str(), second.header("link")),
            (r#"{"name":"a","tags":["v2"]}"#, "")
        );
        // Not in the specification, but in every registry.
        assert_eq!(client.get("/v2/_catalog").await.body_text(), r#"{"repositories":["a"]}"#);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn listing_referrers() {
        let client = Client::start().await;
        let subject = sha256(b"subject").to_string();
        let mut expected = Vec::new();
        for (number, kind) in
            ["application/example", "application/example", "application/other"].iter().enumerate()
        {
            let extra = json!({
                "artifactType": kind,
                "subject": { "mediaType": MANIFEST, "digest": subject, "size": 1 },
                "annotations": { "number": number.to_string() },
            });
            let bytes = client.manifest("a", &extra).await;
            let digest = sha256(&bytes).to_string();
            client.push_manifest("a", &digest, &bytes).await;
            expected.push(digest);
        }
        let list = async |query: &str| {
            let response = client.get(&format!("/v2/a/referrers/{query}")).await;
            assert_eq!((response.status, response.header("content-type")), (200, INDEX));
            let body: Value = serde_json::from_slice(&response.body).unwrap();
            (body["manifests"].as_array().unwrap().clone(), response.header("oci-filters-applied").to_owned())
        };
        let (all, applied) = list(&subject).await;
        assert_eq!((all.len(), applied.as_str()), (3, ""));
        let (filtered, applied) = list(&format!("{subject}?artifactType=application/other")).await;
        assert_eq!((filtered.len(), applied.as_str()), (1, "artifactType"));
        assert_eq!(filtered[0]["digest"], json!(expected[2]));
        assert_eq!(filtered[0]["artifactType"], "application/other");
        assert_eq!(filtered[0]["annotations"]["number"], "2");
        assert_eq!(filtered[0]["mediaType"], MANIFEST);
        assert_eq!(list(sha256(b"nothing").as_ref()).await.0, [] as [Value; 0]);
        // A deleted manifest refers to nothing.
        assert_eq!(client.delete(&format!("/v2/a/manifests/{}", expected[2])).await.status, 202);
        assert_eq!(list(&subject).await.0.len(), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn listing_referrers_in_pages() {
        let client = Client::start().await;
        let subject = sha256(b"subject").to_string();
        for number in 0..101 {
            let extra = json!({
                "subject": { "mediaType": MANIFEST, "digest": subject, "size": 1 },
                "annotations": { "number": number.to_string() },
            });
            let bytes = client.manifest("a", &extra).await;
            client.push_manifest("a", sha256(&bytes).as_ref(), &bytes).await;
        }
        let mut path =
            format!("/v2/a/referrers/{subject}?artifactType=application/vnd.oci.image.config.v1%2Bjson");
        let mut counts = Vec::new();
        loop {
            let page = client.get(&path).await;
            let body: Value = serde_json::from_slice(&page.body).unwrap();
            counts.push(body["manifests"].as_array().unwrap().len());
            match page.header("link").split_once('>') {
                Some((next, rest)) => {
                    assert_eq!(rest, "; rel=\"next\"");
                    next.trim_start_matches('<').clone_into(&mut path);
                }
                None => break,
            }
        }
        assert_eq!(counts, [100, 1]);
    }
}

mod content_management {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn deleting_tags_and_manifests() {
        let client = Client::start().await;
        let bytes = client.manifest("a", &json!({})).await;
        for tag in ["one", "two"] {
            client.push_manifest("a", tag, &bytes).await;
        }
        assert_eq!(client.delete("/v2/a/manifests/one").await.status, 202);
        assert_eq!(client.get("/v2/a/manifests/one").await.status, 404);
        assert_eq!(client.get("/v2/a/manifests/two").await.status, 200);
        let by_digest = format!("/v2/a/manifests/{}", sha256(&bytes));
        assert_eq!(client.delete(&by_digest).await.status, 202);
        for path in ["/v2/a/manifests/two", &by_digest] {
            assert_eq!(client.get(path).await.status, 404);
            assert_eq!(client.delete(path).await.status, 404);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn deleting_blobs() {
        let client = Client::start().await;
        let digest = client.push_blob("a", b"shared").await;
        client.push_blob("b", b"shared").await;
        let blob = format!("/v2/a/blobs/{digest}");
        assert_eq!(client.delete(&blob).await.status, 202);
        assert_eq!(client.get(&blob).await.status, 404);
        assert_eq!(client.delete(&blob).await.code(), "BLOB_UNKNOWN");
        assert_eq!(client.get(&format!("/v2/b/blobs/{digest}")).await.status, 200);
    }
}
