//! The registry under attack: foreign names and web pages, slow and many clients, abandoned uploads, and directories
//! that are not its own.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use oci_images::layout::sha256;
use oci_images::registry::server::{Error, Options, Server};
use oci_images::registry::{Progress, Repository};

use crate::http::{connect, read_to_close, send, send_raw};
use crate::{LONG, Running};

async fn push(address: SocketAddr, name: &str, bytes: &[u8]) -> u16 {
    let path = format!("/v2/{name}/blobs/uploads/?digest={}", sha256(bytes));
    send(address, "POST", &path, &[], bytes).await.status
}

async fn begin(address: SocketAddr) -> String {
    let response = send(address, "POST", "/v2/a/blobs/uploads/", &[], b"").await;
    assert_eq!(response.status, 202);
    response.header("location").to_owned()
}

fn count(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

fn options(directory: &Path) -> Options {
    Options::new("127.0.0.1:0".parse().unwrap(), directory)
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_was_lost_is_not_found_and_can_be_pushed_again() {
    let registry = Running::start().await;
    let (address, options) = (registry.address, crate::options());
    let name = crate::reference(address, "team/gizmo:v1");
    let image = crate::image(&[&[("a", "a")]]);
    let push = async || {
        let repository = Repository::for_writing(&name, &options, &crate::anonymous()).await.unwrap();
        repository.push(&image, None, &Progress::hidden()).await.unwrap();
    };
    push().await;
    let digest = image.digest();
    fs::remove_file(registry.directory.path().join("blobs/sha256").join(digest.digest())).unwrap();
    for reference in ["v1", digest.as_ref()] {
        let path = format!("/v2/team/gizmo/manifests/{reference}");
        assert_eq!(send(address, "GET", &path, &[], b"").await.status, 404, "{reference}");
    }
    push().await;
    assert_eq!(send(address, "GET", "/v2/team/gizmo/manifests/v1", &[], b"").await.status, 200);
}

mod access {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn requests_with_foreign_hosts_are_rejected() {
        let registry = Running::start_with(|options| options.hosts = vec!["registry.test".into()]).await;
        let address = registry.address;
        assert_eq!(push(address, "a", b"blob").await, 201);
        let blob = format!("/v2/a/blobs/{}", sha256(b"blob"));
        for host in
            ["evil.example", "evil.example:5000", "localhost.evil.example", "10.0.0.1", "x@127.0.0.1", ""]
        {
            for method in ["GET", "DELETE"] {
                let response = send(address, method, &blob, &[&format!("host: {host}")], b"").await;
                assert_eq!(response.status, 403, "{method} {host}");
            }
        }
        for request in [
            format!("DELETE {blob} HTTP/1.0\r\n\r\n"),
            format!(
                "DELETE {blob} HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
            ),
            format!(
                "DELETE http://evil.example{blob} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
            ),
        ] {
            let response = String::from_utf8(send_raw(address, request.as_bytes()).await).unwrap();
            assert!(response.contains(" 400 ") || response.contains(" 403 "), "{request}: {response}");
        }
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:5000", "registry.test:443"] {
            assert_eq!(
                send(address, "GET", &blob, &[&format!("host: {host}")], b"").await.status,
                200,
                "{host}"
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn requests_of_web_pages_of_other_origins_are_rejected() {
        let registry = Running::start().await;
        let address = registry.address;
        let path = format!("/v2/a/blobs/uploads/?digest={}", sha256(b"blob"));
        for header in [
            "origin: http://evil.example",
            "origin: null",
            "origin: http://localhost:3000",
            "sec-fetch-site: cross-site",
            "sec-fetch-site: same-site",
        ] {
            let response = send(address, "POST", &path, &["content-type: text/plain", header], b"blob").await;
            assert_eq!(response.status, 403, "{header}");
        }
        let blob = format!("/v2/a/blobs/{}", sha256(b"blob"));
        assert_eq!(send(address, "HEAD", &blob, &[], b"").await.status, 404);
        let own = format!("origin: http://{address}");
        assert_eq!(
            send(address, "POST", &path, &[&own, "sec-fetch-site: same-origin"], b"blob").await.status,
            201
        );
    }

    #[tokio::test]
    async fn addresses_that_other_machines_reach_need_consent() {
        let directory = tempfile::tempdir().unwrap();
        let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
        let options = Options::new(everywhere, directory.path());
        let error = Server::bind(options.clone()).await.unwrap_err();
        assert!(matches!(error, Error::NotLoopback(_)), "{error}");
        assert_eq!(count(directory.path()), 0);
        let mut options = options;
        options.listen_anywhere = true;
        assert!(Server::bind(options).await.is_ok());
    }
}

mod directory {
    use super::*;

    #[tokio::test]
    async fn directory_with_other_content_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("uploads")).unwrap();
        fs::write(directory.path().join("uploads/precious"), "mine").unwrap();
        let error = Server::bind(options(directory.path())).await.unwrap_err();
        assert!(matches!(error, Error::NotARegistry { .. }), "{error}");
        assert_eq!(fs::read_to_string(directory.path().join("uploads/precious")).unwrap(), "mine");
        assert_eq!(count(directory.path()), 1);
        // A marker of something else does not make it a registry.
        for marker in ["", "{\"version\":2}"] {
            fs::write(directory.path().join("registry-layout"), marker).unwrap();
            let error = Server::bind(options(directory.path())).await.unwrap_err();
            assert!(matches!(error, Error::NotARegistry { .. }), "{error}");
            assert!(directory.path().join("uploads/precious").exists());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn port_in_use_leaves_the_directory_unchanged() {
        let registry = Running::start().await;
        let directory = tempfile::tempdir().unwrap();
        let error = Server::bind(Options::new(registry.address, directory.path())).await.unwrap_err();
        assert!(matches!(error, Error::Listen { .. }), "{error}");
        assert!(error.to_string().contains(&registry.address.to_string()), "{error}");
        assert_eq!(count(directory.path()), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn second_server_does_not_destroy_uploads() {
        let registry = Running::start().await;
        let upload = begin(registry.address).await;
        assert_eq!(send(registry.address, "PATCH", &upload, &[], b"half").await.status, 202);
        let error = Server::bind(options(registry.directory.path())).await.unwrap_err();
        assert!(matches!(error, Error::InUse { .. }), "{error}");
        let path = format!("{upload}?digest={}", sha256(b"half and half"));
        assert_eq!(send(registry.address, "PUT", &path, &[], b" and half").await.status, 201);
        // When the first one has stopped, another can start.
        let directory = registry.stop().await;
        assert!(Server::bind(options(directory.path())).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn content_survives_a_restart_and_leftovers_do_not() {
        let registry = Running::start().await;
        assert_eq!(push(registry.address, "a", b"blob").await, 201);
        let directory = registry.stop().await;
        fs::write(directory.path().join("uploads/leftover"), "half a blob").unwrap();
        let registry = Running::start_in(directory, |_| {}).await;
        let blob = format!("/v2/a/blobs/{}", sha256(b"blob"));
        assert_eq!(send(registry.address, "GET", &blob, &[], b"").await.body_text(), "blob");
        assert_eq!(count(&registry.directory.path().join("uploads")), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn read_only_registry_changes_nothing() {
        let empty = tempfile::tempdir().unwrap();
        let mut missing = options(empty.path());
        missing.read_only = true;
        let error = Server::bind(missing).await.unwrap_err();
        assert!(matches!(error, Error::NotARegistry { .. }), "{error}");
        assert_eq!(count(empty.path()), 0);

        let registry = Running::start().await;
        assert_eq!(push(registry.address, "a", b"blob").await, 201);
        let directory = registry.stop().await;
        let path = directory.path().to_owned();
        let registry = Running::start_in(directory, |options| options.read_only = true).await;
        let blob = format!("/v2/a/blobs/{}", sha256(b"blob"));
        assert_eq!(push(registry.address, "a", b"other").await, 405);
        assert_eq!(send(registry.address, "DELETE", &blob, &[], b"").await.status, 405);
        assert_eq!(send(registry.address, "GET", &blob, &[], b"").await.body_text(), "blob");
        // Others may read it too, and none may write.
        assert!(matches!(Server::bind(options(&path)).await, Err(Error::InUse { .. })));
        let mut another = options(&path);
        another.read_only = true;
        assert!(Server::bind(another).await.is_ok());
    }

    #[tokio::test]
    async fn path_that_is_not_a_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Server::bind(options(&file)).await.unwrap_err().to_string();
        assert!(error.contains(&file.display().to_string()), "{error}");
    }
}

mod uploads {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn abandoned_uploads_do_not_stop_the_registry() {
        // More than a process may have descriptors open by default.
        let registry = Running::start().await;
        let address = registry.address;
        let mut last = String::new();
        for _ in 0..1100 {
            last = begin(address).await;
        }
        assert_eq!(push(address, "a", b"blob").await, 201);
        assert_eq!(count(&registry.directory.path().join("uploads")), 1000);
        let path = format!("{last}?digest={}", sha256(b"last"));
        assert_eq!(send(address, "PUT", &path, &[], b"last").await.status, 201);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn uploads_are_limited_in_number_and_the_registry_recovers() {
        let registry = Running::start_with(|options| options.limits.uploads = 2).await;
        let address = registry.address;
        let uploads = [begin(address).await, begin(address).await];
        for upload in &uploads {
            assert_eq!(send(address, "PATCH", upload, &[], b"x").await.status, 202);
        }
        let response = send(address, "POST", "/v2/a/blobs/uploads/", &[], b"").await;
        assert_eq!((response.status, response.code().as_str()), (429, "TOOMANYREQUESTS"));
        assert!(!response.header("retry-after").is_empty());
        assert_eq!(send(address, "DELETE", &uploads[0], &[], b"").await.status, 204);
        begin(address).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn abandoned_uploads_with_bytes_give_way_to_new_ones() {
        let registry = Running::start_with(|options| {
            options.limits.uploads = 2;
            options.limits.upload_idle_if_full = Duration::ZERO;
        })
        .await;
        let address = registry.address;
        for _ in 0..5 {
            let upload = begin(address).await;
            assert_eq!(send(address, "PATCH", &upload, &[], b"x").await.status, 202);
        }
        assert_eq!(count(&registry.directory.path().join("uploads")), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn idle_and_old_uploads_expire() {
        for change in [
            (|options: &mut Options| options.limits.upload_idle = Duration::ZERO) as fn(&mut Options),
            |options| options.limits.upload_age = Duration::ZERO,
        ] {
            let registry = Running::start_with(change).await;
            let upload = begin(registry.address).await;
            begin(registry.address).await;
            assert_eq!(send(registry.address, "GET", &upload, &[], b"").await.code(), "BLOB_UPLOAD_UNKNOWN");
            // The second one expires too, sooner or later.
            assert!(count(&registry.directory.path().join("uploads")) <= 1);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn blobs_and_uploads_are_limited_in_size() {
        let registry = Running::start_with(|options| {
            options.limits.blob_bytes = 10;
            options.limits.upload_bytes = 15;
        })
        .await;
        let address = registry.address;
        assert_eq!(push(address, "a", b"eleven byte").await, 413);
        let first = begin(address).await;
        assert_eq!(send(address, "PATCH", &first, &[], b"ten bytes.").await.status, 202);
        assert_eq!(send(address, "PATCH", &first, &[], b"x").await.status, 413);
        assert_eq!(push(address, "a", b"ten bytes!").await, 429);
        let path = format!("{first}?digest={}", sha256(b"ten bytes."));
        assert_eq!(send(address, "PUT", &path, &[], b"").await.status, 201);
        assert_eq!(push(address, "a", b"ten bytes!").await, 201);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn upload_that_broke_off_is_resumed() {
        let registry = Running::start().await;
        let address = registry.address;
        let upload = begin(address).await;
        let mut stream = connect(address);
        write!(stream, "PATCH {upload} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 100\r\n\r\nabc")
            .unwrap();
        stream.shutdown(std::net::Shutdown::Both).unwrap();
        // The status waits until the request that broke off has ended; it may come before that one begins.
        let size = tokio::time::timeout(LONG, async {
            loop {
                let range = send(address, "GET", &upload, &[], b"").await.header("range").to_owned();
                if range == "0-2" {
                    break range;
                }
            }
        });
        size.await.unwrap();
        let path = format!("{upload}?digest={}", sha256(b"abcdef"));
        let done = send(address, "PUT", &path, &["content-range: 3-5"], b"def").await;
        assert_eq!(done.status, 201, "{}", done.body_text());
    }
}

mod connections {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn slow_headers_and_idle_connections_are_cut() {
        let registry = Running::start_with(|options| {
            options.limits.http.header_timeout = Duration::from_millis(100);
            options.limits.http.idle_timeout = Duration::from_millis(100);
        })
        .await;
        for start in [
            "",
            "GET /v2/ HTTP/1.1\r\nhost: localhost\r\nx: ",
            "GET /v2/ HTTP/1.1\r\nhost: localhost\r\n\r\n",
        ] {
            let closed = tokio::time::timeout(LONG, send_raw(registry.address, start.as_bytes()));
            closed.await.expect("the connection stays open");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn slow_bodies_are_cut() {
        let registry =
            Running::start_with(|options| options.limits.http.body_timeout = Duration::from_millis(100))
                .await;
        let digest = sha256(b"x");
        for line in
            [format!("POST /v2/a/blobs/uploads/?digest={digest}"), "PUT /v2/a/manifests/v1".to_owned()]
        {
            let request = format!("{line} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nx");
            let response = tokio::time::timeout(LONG, send_raw(registry.address, request.as_bytes()));
            let response = String::from_utf8(response.await.expect("the connection stays open")).unwrap();
            assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn heads_are_limited_in_size() {
        let registry = Running::start().await;
        let many: String = (0..101).map(|number| format!("x-{number}: 1\r\n")).collect();
        for headers in [format!("x: {}\r\n", "a".repeat(64 << 10)), many] {
            let request = format!("GET /v2/ HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
            let response = send_raw(registry.address, request.as_bytes()).await;
            assert!(response.is_empty() || response.starts_with(b"HTTP/1.1 431 "));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn requests_in_progress_delay_the_end_for_a_limited_time() {
        let registry =
            Running::start_with(|options| options.limits.http.shutdown_timeout = Duration::from_millis(100))
                .await;
        let mut stream = connect(registry.address);
        let digest = sha256(b"x");
        write!(stream, "POST /v2/a/blobs/uploads/?digest={digest} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nx")
            .unwrap();
        let idle = connect(registry.address);
        registry.stop().await;
        for stream in [stream, idle] {
            tokio::task::spawn_blocking(move || read_to_close(stream)).await.unwrap();
        }
    }
}
