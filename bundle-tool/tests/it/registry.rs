//! `registry serve` as a process: killed, stopped, started twice, and pointed at directories that are not its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::send_signal;

/// The digest of `content`.
const DIGEST: &str = "sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";

/// Nothing here takes longer, however slow the machine is.
const LONG: Duration = Duration::from_mins(1);

fn serve(address: &str, directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    command.args(["registry", "serve", "--address", address, "--dir"]).arg(directory);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running registry, killed on drop.
struct Registry {
    child: Child,
    address: String,
}

impl Registry {
    fn start(directory: &Path) -> Self {
        let mut child = serve("127.0.0.1:0", directory).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim_end().to_owned() }
    }

    /// Opens a connection and sends the beginning of a request.
    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(request.replacen("HTTP/1.1", "HTTP/1.1\r\nhost: localhost", 1).as_bytes()).unwrap();
        stream
    }

    /// Sends a request and returns the response.
    fn request(&self, line: &str, body: &str) -> String {
        let head = format!("{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        let mut response = String::new();
        self.send(&(head + body)).read_to_string(&mut response).unwrap();
        response
    }

    /// Begins an upload and returns its location.
    fn begin(&self) -> String {
        let response = self.request("POST /v2/a/blobs/uploads/", "");
        let location = response.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
        location.to_owned()
    }

    fn signal(&self, signal: Signal) {
        send_signal(&self.child, signal);
    }

    fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < LONG, "the registry does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn error(output: &Output) -> String {
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty());
    error
}

/// Waits until the upload in progress has `size` bytes.
fn wait_for_upload(directory: &Path, size: u64) {
    let start = Instant::now();
    let has_size = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.len() == size);
    while !fs::read_dir(directory.join("uploads")).unwrap().any(|entry| has_size(&entry.unwrap().path())) {
        assert!(start.elapsed() < LONG, "nothing is uploaded");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn registry_killed_during_an_upload_starts_again() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path().join("registry");
    let registry = Registry::start(&directory);
    let upload = registry.begin();
    let _half = registry.send(&format!("PATCH {upload} HTTP/1.1\r\ncontent-length: 7\r\n\r\nconte"));
    wait_for_upload(&directory, 5);
    drop(registry);

    let registry = Registry::start(&directory);
    assert_eq!(fs::read_dir(directory.join("uploads")).unwrap().count(), 0, "half an upload was left behind");
    let blob = format!("/v2/a/blobs/{DIGEST}");
    assert!(registry.request(&format!("GET {blob}"), "").starts_with("HTTP/1.1 404 "));
    let pushed = registry.request(&format!("POST /v2/a/blobs/uploads/?digest={DIGEST}"), "content");
    assert!(pushed.starts_with("HTTP/1.1 201 "), "{pushed}");
    assert!(registry.request(&format!("GET {blob}"), "").ends_with("\r\n\r\ncontent"));
}

#[test]
fn directory_that_is_not_a_registry_is_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("uploads")).unwrap();
    fs::write(dir.path().join("uploads/precious"), "mine").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = error(&serve(&address, dir.path()).output().unwrap());
    assert!(message.contains(&format!("failed to listen on {address}")), "{message}");
    let message = error(&serve("127.0.0.1:0", dir.path()).output().unwrap());
    assert!(message.contains("neither empty nor a registry"), "{message}");
    assert_eq!(fs::read_to_string(dir.path().join("uploads/precious")).unwrap(), "mine");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn second_registry_in_the_same_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::start(dir.path());
    let upload = registry.begin();
    let message = error(&serve("127.0.0.1:0", dir.path()).output().unwrap());
    assert!(message.contains("in use by another server"), "{message}");
    let done = registry.request(&format!("PUT {upload}?digest={DIGEST}"), "content");
    assert!(done.starts_with("HTTP/1.1 201 "), "{done}");
}

#[test]
fn signal_stops_the_registry_and_a_second_one_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut registry = Registry::start(&dir.path().join("idle"));
    let _idle = registry.send("");
    registry.signal(Signal::TERM);
    assert_eq!(registry.wait().code(), Some(0));

    let directory = dir.path().join("busy");
    let mut registry = Registry::start(&directory);
    let start =
        format!("POST /v2/a/blobs/uploads/?digest={DIGEST} HTTP/1.1\r\ncontent-length: 7\r\n\r\nconte");
    let _busy = registry.send(&start);
    wait_for_upload(&directory, 5);
    registry.signal(Signal::TERM);
    registry.signal(Signal::INT);
    assert_eq!(registry.wait().code(), Some(0));
    let mut message = String::new();
    registry.child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert!(message.contains("second signal"), "{message}");
}

#[test]
fn interrupted_request_may_complete() {
    let dir = tempfile::tempdir().unwrap();
    let mut registry = Registry::start(dir.path());
    let start = format!(
        "POST /v2/a/blobs/uploads/?digest={DIGEST} HTTP/1.1\r\nconnection: close\r\ncontent-length: 7\r\n\r\nconte"
    );
    let mut request = registry.send(&start);
    wait_for_upload(dir.path(), 5);
    registry.signal(Signal::TERM);
    request.write_all(b"nt").unwrap();
    let mut response = String::new();
    request.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 201 "), "{response}");
    assert_eq!(registry.wait().code(), Some(0));
}

#[test]
fn foreign_hosts_are_rejected_unless_they_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::start(dir.path());
    let status = |registry: &Registry, host: &str| {
        let mut stream = TcpStream::connect(&registry.address).unwrap();
        write!(stream, "GET /v2/ HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(&registry, "registry.test"), "403");
    drop(registry);
    let mut child = serve("127.0.0.1:0", dir.path()).args(["--host", "registry.test"]).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let registry = Registry { child, address: address.trim_end().to_owned() };
    assert_eq!(status(&registry, "registry.test:80"), "200");
    assert_eq!(status(&registry, "evil.example"), "403");
}
