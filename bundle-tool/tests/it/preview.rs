//! `bundle-tool preview`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{copy_bundle, run, send_signal};

/// A server that is stopped with the test.
struct Preview {
    child: Child,
    address: String,
}

impl Drop for Preview {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Preview {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
        command
            .current_dir(directory)
            .arg("preview")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { child, address }
    }

    /// Returns the answer to a request: its head and its body.
    fn get(&self, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }

    fn json(&self, path: &str) -> serde_json::Value {
        serde_json::from_str(&self.get(path, "localhost").1).unwrap()
    }
}

/// Writes files that stand for the page.
fn page(directory: &Path) {
    fs::create_dir(directory.join("page")).unwrap();
    for name in ["index.html", "app.js", "engine.js", "style.css", "icon.svg"] {
        fs::write(directory.join("page").join(name), format!("content of {name}")).unwrap();
    }
}

#[test]
fn the_page_and_the_files_of_the_directory_are_served_and_changes_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    page(dir.path());
    let bundle = copy_bundle(dir.path().join("bundle"));
    fs::create_dir(bundle.join(".git")).unwrap();
    fs::write(bundle.join(".git/config"), "secret").unwrap();
    let mut preview = Preview::start(dir.path(), &["bundle", "--page", "page"]);
    assert!(preview.address.starts_with("127.0.0.1:"), "{}", preview.address);

    let (head, body) = preview.get("/", &preview.address.clone());
    assert_eq!(body, "content of index.html");
    for header in ["200 ok", "content-type: text/html", "frame-ancestors 'none'", "nosniff", "no-store"] {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert!(preview.get("/app.js", "localhost").0.contains("text/javascript"));
    for path in ["/../bundle/metadata/annotations.yaml", "/preview", "/preview/files/x", "/%2e%2e/bundle"] {
        assert!(preview.get(path, "localhost").0.contains("404 not found"), "{path}");
    }
    for path in ["/", "/preview/files"] {
        assert!(preview.get(path, "evil.example").0.contains("403 forbidden"), "{path}");
    }

    let state = preview.json("/preview/version");
    assert_eq!(state, serde_json::json!({"version": 1, "name": "bundle"}));
    let files = preview.json("/preview/files");
    let names: Vec<_> = files.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(
        names.contains(&"metadata/annotations.yaml") && !names.iter().any(|name| name.contains(".git")),
        "{names:?}"
    );

    fs::write(bundle.join("metadata/annotations.yaml"), "annotations: {}\n").unwrap();
    let start = Instant::now();
    while preview.json("/preview/version")["version"] == 1 {
        assert!(start.elapsed() < Duration::from_secs(30), "the change was not noticed");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(preview.json("/preview/files")["metadata/annotations.yaml"], "YW5ub3RhdGlvbnM6IHt9Cg==");

    send_signal(&preview.child, Signal::TERM);
    assert!(preview.child.wait().unwrap().success());
}

#[test]
fn what_cannot_be_previewed_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    page(dir.path());
    fs::write(dir.path().join("file"), "text").unwrap();
    for (arguments, message) in [
        (&["preview", "missing", "--page", "page"][..], "failed to read missing"),
        (&["preview", "file", "--page", "page"], "file is not the directory of a bundle or a catalog"),
        (&["preview", "page", "--page", "missing"], "failed to read the page missing/index.html"),
    ] {
        let output = run(dir.path(), arguments);
        assert_eq!((output.status, output.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
}
