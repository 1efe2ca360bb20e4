//! `serve --http` as a process: catalogd's API, pages, metrics, and a catalog that changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::serve::{CATALOG, LONG, Server, catalog, failed};

/// A response, with its body decoded from chunks.
struct Response {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Response {
    fn body_text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

fn send(port: u16, method: &str, path: &str, headers: &[&str]) -> Response {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_ascii_lowercase(), value.to_owned())
    };
    let headers: BTreeMap<_, _> = lines.map(header).collect();
    let mut body = bytes[end + 4..].to_vec();
    if headers.get("transfer-encoding").is_some_and(|value| value == "chunked") {
        body = dechunked(&body);
    }
    Response { status, headers, body }
}

fn dechunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return out;
        }
        out.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 4 + length..];
    }
}

fn get(port: u16, path: &str) -> Response {
    send(port, "GET", path, &[])
}

const PACKAGE: &str = "{\"defaultChannel\":\"stable\",\"name\":\"gizmo\",\"schema\":\"olm.package\"}\n";
const HEAD: &str = "{\"image\":\"example.com/gizmo:v1.1.0\",\"name\":\"gizmo.v1.1.0\",\"package\":\"gizmo\",\
    \"properties\":[{\"type\":\"olm.package\",\"value\":{\"packageName\":\"gizmo\",\"version\":\"1.1.0\"}},\
    {\"type\":\"olm.csv.metadata\",\"value\":{\"displayName\":\"Gizmo\"}}],\"schema\":\"olm.bundle\"}\n";

#[test]
fn api_equals_that_of_catalogd() {
    let dir = catalog();
    let server = Server::start(dir.path(), &["catalog", "--http", "127.0.0.1:0", "--catalog-name", "gizmos"]);
    let port = server.http.unwrap();
    let all = get(port, "/catalogs/gizmos/api/v1/all");
    assert_eq!((all.status, all.header("content-type")), (200, "application/jsonl"));
    assert_eq!(all.header("content-length"), all.body.len().to_string());
    assert_eq!((all.header("accept-ranges"), all.header("vary")), ("bytes", "Accept-Encoding"));
    assert!(all.body_text().starts_with(PACKAGE) && all.body_text().ends_with(HEAD), "{}", all.body_text());
    assert_eq!(all.body_text().lines().count(), 4);
    assert_eq!(get(port, "/api/v1/all").body, all.body);

    // Filters.
    for (query, expected) in [
        ("", all.body_text()),
        ("?schema=olm.package", PACKAGE),
        ("?name=gizmo.v1.1.0", HEAD),
        ("?schema=olm.bundle&package=gizmo&name=gizmo.v1.1.0", HEAD),
        ("?package=gizmo&schema=olm.package", ""),
        ("?name=none", ""),
        ("?schema=&name=gizmo%2ev1.1.0", HEAD),
    ] {
        let metas = get(port, &format!("/catalogs/gizmos/api/v1/metas{query}"));
        assert_eq!((metas.status, metas.header("content-type")), (200, "application/jsonl"), "{query}");
        assert_eq!(metas.body_text(), expected, "{query}");
    }

    // Errors.
    for (method, path, status, message) in [
        ("GET", "/catalogs/gizmos/api/v1/metas?channel=stable", 400, "400 Bad Request\n"),
        ("GET", "/catalogs/others/api/v1/all", 404, "404 Not Found\n"),
        ("GET", "/catalogs/others/api/v1/metas", 404, "404 Not Found\n"),
        ("POST", "/catalogs/gizmos/api/v1/all", 405, "Method Not Allowed\n"),
        ("DELETE", "/catalogs/gizmos/api/v1/metas", 405, "Method Not Allowed\n"),
        ("GET", "/catalogs/gizmos/api/v2/all", 404, "404 page not found\n"),
    ] {
        let response = send(port, method, path, &[]);
        assert_eq!((response.status, response.body_text()), (status, message), "{method} {path}");
        assert_eq!(response.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(response.header("x-content-type-options"), "nosniff");
    }
    let invalid = get(port, "/catalogs/Gizmos/api/v1/all");
    assert_eq!(invalid.status, 400);
    assert!(
        invalid.body_text().starts_with("invalid catalog name: a lowercase RFC 1123"),
        "{}",
        invalid.body_text()
    );

    // HEAD, conditions, ranges, compression.
    let head = send(port, "HEAD", "/api/v1/all", &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), all.body.len().to_string());
    let since = format!("If-Modified-Since: {}", all.header("last-modified"));
    for path in ["/api/v1/all", "/api/v1/metas", "/api/v1/metas?schema=olm.package"] {
        let response = send(port, "GET", path, &[&since]);
        assert_eq!((response.status, response.body.len()), (304, 0), "{path}");
        assert_eq!(response.header("content-type"), "", "{path}");
        assert_eq!(response.header("last-modified"), all.header("last-modified"));
        let response = send(port, "GET", path, &["If-Match: \"x\""]);
        assert_eq!(response.status, 412, "{path}");
    }
    let range = send(port, "GET", "/api/v1/all", &["Range: bytes=2-4"]);
    assert_eq!((range.status, range.body.as_slice()), (206, &all.body[2..=4]));
    assert_eq!(range.header("content-range"), format!("bytes 2-4/{}", all.body.len()));
    let range = send(port, "GET", "/api/v1/all", &["Range: bytes=99999-"]);
    assert_eq!((range.status, range.body_text()), (416, "invalid range: failed to overlap\n"));
    assert_eq!(range.header("content-range"), format!("bytes */{}", all.body.len()));
    let small = send(port, "GET", "/api/v1/all", &["Accept-Encoding: gzip"]);
    assert_eq!((small.header("content-encoding"), small.body.len()), ("", all.body.len()));
    server.stop();
}

#[test]
fn long_answers_are_compressed() {
    let dir = catalog();
    let long = format!("---\nschema: example.com/notes\nname: a\ntext: {}\n", "x".repeat(200_000));
    fs::write(dir.path().join("catalog/other.yaml"), long).unwrap();
    let server = Server::start(dir.path(), &["catalog", "--http", "0"]);
    let port = server.http.unwrap();
    let plain = get(port, "/api/v1/all");
    for path in ["/api/v1/all", "/api/v1/metas"] {
        let response = send(port, "GET", path, &["Accept-Encoding: br, gzip;q=0.8"]);
        assert_eq!(response.header("content-encoding"), "gzip");
        assert_eq!((response.header("content-length"), response.header("accept-ranges")), ("", ""));
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(response.body.as_slice()).read_to_end(&mut text).unwrap();
        assert!(text == plain.body && response.body.len() < 10_000);
    }
    server.stop();
}

#[test]
fn pages_need_no_scripts_and_escape_everything() {
    let dir = catalog();
    let attack = "<script>alert(1)</script>";
    let icon = "PHN2Zy8+";
    let edited = CATALOG
        .replace("name: gizmo\ndefault", &format!("name: gizmo\nicon: {{base64data: {icon}, mediatype: image/svg+xml}}\ndescription: \"{attack}\"\ndefault"))
        .replace("displayName: Gizmo", &format!("displayName: '{attack}', links: [{{name: bad, url: 'javascript:alert(1)'}}, {{name: good, url: 'https://example.com/\"x'}}]"));
    fs::write(dir.path().join("catalog/catalog.yaml"), edited).unwrap();
    let server = Server::start(dir.path(), &["catalog", "--http", "0"]);
    let port = server.http.unwrap();
    for (path, expected) in [
        ("/", "1 package<"),
        ("/?q=GIZ", "1 of 1 package"),
        ("/?q=%3Cscript%3E+none", "0 of 1 package"),
        ("/?page=99999999999999999999", "1 package<"),
        ("/packages/gizmo", "default"),
        ("/packages/gizmo/channels/stable", "gizmo.v1.1.0"),
    ] {
        let page = get(port, path);
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self'") && !policy.contains("script"));
        let text = page.body_text();
        assert!(text.contains(expected), "{path}: {text}");
        assert!(
            !text.contains("<script") && !text.contains("javascript:") && !text.contains("style="),
            "{text}"
        );
    }
    let package = get(port, "/packages/gizmo");
    assert!(package.body_text().contains("&lt;script&gt;alert(1)"), "{}", package.body_text());
    assert!(
        package.body_text().contains("https:&#x2f;&#x2f;example.com&#x2f;&quot;x"),
        "{}",
        package.body_text()
    );
    let icon = get(port, "/icons/gizmo");
    assert_eq!((icon.header("content-type"), icon.body_text()), ("image/svg+xml", "<svg/>"));
    assert!(icon.header("content-security-policy").contains("sandbox"));
    let graph = get(port, "/packages/gizmo/graph.svg");
    assert_eq!(graph.header("content-type"), "image/svg+xml");
    assert!(
        graph.body_text().starts_with("<svg ") && graph.body_text().contains("gizmo.v1.1.0"),
        "{}",
        graph.body_text()
    );
    assert!(graph.header("content-security-policy").contains("sandbox"));
    for path in ["/packages/none", "/packages/gizmo/channels/none", "/packages/%3Cscript%3E"] {
        let page = get(port, path);
        assert_eq!(page.status, 404, "{path}");
        assert!(page.body_text().contains("The catalog has no") && !page.body_text().contains("<script"));
    }
    for path in ["/icons/none", "/packages/none/graph.svg", "/packages", "/%00", "/../etc/passwd", "//"] {
        assert_eq!(get(port, path).status, 404, "{path}");
    }
    let response = send(port, "POST", "/", &["Content-Length: 0"]);
    assert_eq!((response.status, response.header("allow")), (405, "GET, HEAD"));
    server.stop();
}

#[test]
fn calls_are_answered_while_a_large_graph_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("catalog")).unwrap();
    // Each version is compared with each range.
    let last = 2_000;
    let mut text = String::from(
        "schema: olm.package\nname: large\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: large\nname: stable\nentries:\n",
    );
    for patch in 0..=last {
        let replaces =
            if patch > 0 { format!(", replaces: large.v1.0.{}", patch - 1) } else { String::new() };
        writeln!(text, "- {{name: large.v1.0.{patch}, skipRange: <1.0.0{replaces}}}").unwrap();
    }
    for patch in 0..=last {
        writeln!(
            text,
            "---\nschema: olm.bundle\npackage: large\nname: large.v1.0.{patch}\nimage: example.com/large:v1.0.{patch}\nproperties: [{{type: olm.package, value: {{packageName: large, version: 1.0.{patch}}}}}]"
        )
        .unwrap();
    }
    fs::write(dir.path().join("catalog/catalog.yaml"), text).unwrap();
    let probe = dir.path().join("grpc_health_probe");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bundle-tool"), &probe).unwrap();
    let server = Server::start(dir.path(), &["catalog", "--http", "127.0.0.1:0"]);
    let http = server.http.unwrap();
    let answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // More than the server has threads for calls, one after the other until the probe is answered.
        let draw = || {
            let mut drawn = Vec::new();
            while drawn.is_empty() || !answered.load(Ordering::Relaxed) {
                drawn.push(get(http, "/packages/large/graph.svg"));
            }
            drawn
        };
        let drawings: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
        let address = format!("-addr=:{}", server.port);
        let arguments = [address.as_str(), "-connect-timeout=60s", "-rpc-timeout=60s"];
        for _ in 0..3 {
            let output = Command::new(&probe).args(arguments).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        answered.store(true, Ordering::Relaxed);
        let drawn: Vec<_> = drawings.into_iter().flat_map(|drawing| drawing.join().unwrap()).collect();
        assert!(drawn.iter().all(|drawing| drawing.status == 200 && drawing.body == drawn[0].body));
    });
}

#[test]
fn calls_and_requests_are_counted() {
    let dir = catalog();
    let server = Server::start(dir.path(), &["catalog", "--http", "0"]);
    let port = server.http.unwrap();
    assert_eq!(server.packages(), ["gizmo"]);
    assert_eq!(get(port, "/api/v1/metas?x=1").status, 400);
    assert_eq!(get(port, "/any/other/path").status, 404);
    assert_eq!(get(port, "/readyz").body_text(), "ok\n");
    let metrics = get(port, "/metrics");
    assert_eq!(metrics.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    for line in [
        "bundle_tool_grpc_calls_total{method=\"ListPackages\",code=\"0\"} 1",
        "bundle_tool_http_requests_total{route=\"metas\",code=\"400\"} 1",
        "bundle_tool_http_requests_total{route=\"other\",code=\"404\"} 1",
        "bundle_tool_catalog_packages 1",
        "bundle_tool_catalog_bundles 2",
        "bundle_tool_catalog_loads_total 1",
    ] {
        assert!(metrics.body_text().lines().any(|found| found == line), "{line}: {}", metrics.body_text());
    }
    server.stop();
}

fn eventually(mut check: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !check() {
        assert!(begin.elapsed() < LONG, "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Replaces a file whole: a watcher may look between its truncation and what is written then.
fn replace(file: &Path, text: &str) {
    let new = file.ancestors().nth(2).unwrap().join("new");
    fs::write(&new, text).unwrap();
    fs::rename(&new, file).unwrap();
}

#[test]
fn changed_catalog_is_served_if_it_is_valid() {
    let dir = catalog();
    let file = dir.path().join("catalog/catalog.yaml");
    let server = Server::start(dir.path(), &["catalog", "--http", "0", "--watch"]);
    let port = server.http.unwrap();
    assert_eq!(server.packages(), ["gizmo"]);
    replace(&file, &CATALOG.replace("gizmo", "gadget"));
    eventually(|| server.packages() == ["gadget"]);
    assert!(get(port, "/api/v1/all").body_text().contains("gadget.v1.1.0"));
    assert_eq!(get(port, "/packages/gizmo").status, 404);
    // What is invalid is reported, and the last valid state stays.
    replace(&file, &CATALOG.replace("olm.package\n", "olm.packages\n"));
    eventually(|| get(port, "/metrics").body_text().contains("bundle_tool_catalog_rejected_total 1"));
    assert_eq!(server.packages(), ["gadget"]);
    replace(&file, CATALOG);
    eventually(|| server.packages() == ["gizmo"]);
    // So is a directory that stays away.
    fs::rename(dir.path().join("catalog"), dir.path().join("away")).unwrap();
    eventually(|| get(port, "/metrics").body_text().contains("bundle_tool_catalog_rejected_total 2"));
    assert_eq!(server.packages(), ["gizmo"]);
    let text = server.stop();
    assert!(text.contains("the catalog cannot be read; still serving its last state"), "{text}");
    assert!(text.contains("cannot be served: invalid catalog"), "{text}");
    assert_eq!(text.matches("the catalog has changed: serving 1 package with").count(), 2, "{text}");
}

#[test]
fn invalid_arguments_are_errors() {
    let dir = catalog();
    let error = failed(dir.path(), &["catalog", "--http", "localhost:x"]);
    assert!(error.contains("expected a port or an IP address with a port"), "{error}");
    let error = failed(dir.path(), &["catalog", "--http", "0", "--catalog-name", "A/b"]);
    assert!(error.contains("invalid catalog name `A/b`"), "{error}");
    let error = failed(dir.path(), &["catalog", "--catalog-name", "a"]);
    assert!(error.contains("--http"), "{error}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = failed(dir.path(), &["catalog", "--port", "0", "--http", &address]);
    assert!(error.contains("failed to listen on port"), "{error}");
}
