//! `serve` as a process: its index whole, missing, damaged, foreign and stale; ports, probes, signals and odd clients.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use catalog_server::client::Client;
use catalog_server::proto::{Bundle, Names, PackageName};
use prost::Message as _;
use rustix::process::Signal;

use crate::support::send_signal;

/// Nothing here takes longer, however slow the machine is.
pub(crate) const LONG: Duration = Duration::from_mins(1);

pub(crate) const CATALOG: &str = "
schema: olm.package
name: gizmo
defaultChannel: stable
---
schema: olm.channel
package: gizmo
name: stable
entries: [{name: gizmo.v1.0.0}, {name: gizmo.v1.1.0, replaces: gizmo.v1.0.0}]
---
schema: olm.bundle
package: gizmo
name: gizmo.v1.0.0
image: example.com/gizmo:v1.0.0
properties: [{type: olm.package, value: {packageName: gizmo, version: 1.0.0}}]
---
schema: olm.bundle
package: gizmo
name: gizmo.v1.1.0
image: example.com/gizmo:v1.1.0
properties:
- {type: olm.package, value: {packageName: gizmo, version: 1.1.0}}
- {type: olm.csv.metadata, value: {displayName: Gizmo}}
";

pub(crate) fn catalog() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("catalog")).unwrap();
    fs::write(dir.path().join("catalog/catalog.yaml"), CATALOG).unwrap();
    dir
}

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    command.arg("serve").args(arguments).current_dir(dir);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `serve` where it ends by itself.
fn run(dir: &Path, arguments: &[&str]) -> Output {
    command(dir, arguments).output().unwrap()
}

pub(crate) fn failed(dir: &Path, arguments: &[&str]) -> String {
    let output = run(dir, arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A running server, killed on drop.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    /// The port of HTTP, if it is served.
    pub(crate) http: Option<u16>,
}

impl Server {
    pub(crate) fn start(dir: &Path, arguments: &[&str]) -> Self {
        let mut child = command(dir, &[&["--port", "0"], arguments].concat()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut port = || {
            let mut address = String::new();
            out.read_line(&mut address).unwrap();
            address.trim_end().trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
        };
        let first = port();
        let http = arguments.contains(&"--http").then(port);
        Self { child, port: first, http }
    }

    fn wait(&mut self) -> (ExitStatus, String) {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < LONG, "the server does not stop");
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (status, text)
    }

    /// Stops the server and returns what it wrote to standard error.
    pub(crate) fn stop(mut self) -> String {
        send_signal(&self.child, Signal::TERM);
        let (status, text) = self.wait();
        assert!(status.success(), "{text}");
        text
    }

    pub(crate) fn packages(&self) -> Vec<String> {
        runtime().block_on(async {
            let client = Client::connect(("127.0.0.1", self.port)).await.unwrap();
            let messages = client.list("/api.Registry/ListPackages", &Names::default(), &[]).await.unwrap();
            messages.into_iter().map(|message| PackageName::decode(message).unwrap().name).collect()
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn index_is_reproducible_and_served() {
    let dir = catalog();
    for name in ["a", "b"] {
        assert!(run(dir.path(), &["catalog", "--build-index", name]).status.success());
    }
    let index = fs::read(dir.path().join("a")).unwrap();
    assert_eq!(index, fs::read(dir.path().join("b")).unwrap());
    // Without write access, and with the arguments that opm's images have.
    let arguments = ["catalog", "--cache-dir", "cache", "--cache-only"];
    assert!(run(dir.path(), &arguments).status.success());
    assert_eq!(index, fs::read(dir.path().join("cache/catalog.index")).unwrap());
    let server = Server::start(dir.path(), &["catalog", "--cache-dir", "cache", "--cache-enforce-integrity"]);
    assert_eq!(server.packages(), ["gizmo"]);
    assert_eq!(server.stop(), "serving 1 package with 1 channel\n");
}

#[test]
fn index_is_not_written_into_its_catalog() {
    let dir = catalog();
    for arguments in [
        &["catalog", "--build-index", "catalog/catalog.yaml"][..],
        &["catalog", "--build-index", "catalog/new/index"],
        &["catalog", "--cache-dir", "catalog/cache", "--cache-only"],
        &["./catalog/../catalog", "--cache-dir", "catalog"],
    ] {
        let error = failed(dir.path(), arguments);
        assert!(error.contains("is part of the input") && error.contains(arguments[1]), "{error}");
        let entries = fs::read_dir(dir.path().join("catalog")).unwrap();
        assert_eq!(entries.count(), 1);
        assert_eq!(fs::read_to_string(dir.path().join("catalog/catalog.yaml")).unwrap(), CATALOG);
    }
}

#[test]
fn missing_damaged_foreign_or_stale_index_is_not_served() {
    let dir = catalog();
    let path = dir.path().join("index");
    assert!(run(dir.path(), &["catalog", "--build-index", "index"]).status.success());
    let whole = fs::read(&path).unwrap();
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let mut version = whole.clone();
    version[16] = 2;
    for (bytes, expected) in [
        (Vec::new(), "not an index"),
        (b"packages.json".repeat(100), "not an index"),
        (version, "format version 2, expected 1"),
        (whole[..whole.len() - 1].to_vec(), "damaged: size"),
        ([whole.as_slice(), b"x"].concat(), "damaged: size"),
        (changed(40), "another catalog"),
        (changed(70), "damaged: digest"),
        (changed(130), "damaged: digest"),
        (changed(whole.len() - 1), "damaged: digest"),
    ] {
        fs::write(&path, &bytes).unwrap();
        let error = failed(dir.path(), &["catalog", "--index", "index", "--cache-enforce-integrity"]);
        assert!(error.contains(expected) && error.contains("--build-index"), "{error}");
        let server = Server::start(dir.path(), &["catalog", "--index", "index"]);
        assert_eq!(server.packages(), ["gizmo"]);
        let text = server.stop();
        assert!(text.contains(expected) && text.contains("reading the catalog instead"), "{text}");
    }
    // Every byte counts.
    for at in 0..whole.len() {
        fs::write(&path, changed(at)).unwrap();
        let digest = catalog_server::load::digest(&dir.path().join("catalog")).unwrap();
        assert!(catalog_server::Index::open(&path, &digest).is_err(), "byte {at}");
    }
    fs::write(&path, &whole).unwrap();
    let edited = CATALOG.replace("Gizmo}", "Gadget}");
    fs::write(dir.path().join("catalog/catalog.yaml"), edited).unwrap();
    let error = failed(dir.path(), &["catalog", "--index", "index", "--cache-enforce-integrity=true"]);
    assert!(error.contains("earlier state"), "{error}");
    fs::remove_file(&path).unwrap();
    let error = failed(dir.path(), &["catalog", "--index", "index", "--cache-enforce-integrity"]);
    assert!(error.contains("no such file"), "{error}");
    // A directory for the index may be empty.
    let server = Server::start(dir.path(), &["catalog", "--cache-dir", "none"]);
    assert_eq!(server.stop(), "serving 1 package with 1 channel\n");
}

#[test]
fn serve_reports_one_error_for_an_invalid_catalog() {
    let dir = catalog();
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = failed(dir.path(), &["catalog", "--port", &port]);
    assert!(error.starts_with(&format!("error: failed to listen on port {port}: ")), "{error}");
    let error = failed(dir.path(), &["nothing"]);
    assert!(error.contains("nothing") && error.lines().count() == 1, "{error}");
    fs::create_dir(dir.path().join("empty")).unwrap();
    let error = failed(dir.path(), &["empty"]);
    assert!(error.contains("contains no file"), "{error}");
    let file = dir.path().join("catalog/catalog.yaml");
    fs::write(dir.path().join("log"), "").unwrap();
    for (text, expected) in [
        ("{", "catalog.yaml"),
        ("schema: olm.package\nname: a\n", "catalog.yaml:1:1"),
        (&CATALOG.replace("gizmo.v1.0.0}, ", "gizmo.v0.0.1}, "), "several heads"),
    ] {
        fs::write(&file, text).unwrap();
        let error = failed(dir.path(), &["catalog", "--termination-log", "log"]);
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
        // The kubelet shows what is in this file.
        assert!(fs::read_to_string(dir.path().join("log")).unwrap().contains(expected));
        let error = failed(dir.path(), &["catalog", "--build-index", "index"]);
        assert!(error.contains(expected) && !dir.path().join("index").exists(), "{error}");
    }
}

#[test]
fn probes_call_the_program_as_grpc_health_probe() {
    let dir = catalog();
    let probe = dir.path().join("grpc_health_probe");
    symlink(env!("CARGO_BIN_EXE_bundle-tool"), &probe).unwrap();
    let status = |arguments: &[&str]| Command::new(&probe).args(arguments).output().unwrap().status.code();
    let server = Server::start(dir.path(), &["catalog"]);
    let address = format!("-addr=:{}", server.port);
    assert_eq!(status(&[&address, "-connect-timeout=60s", "-rpc-timeout=60s"]), Some(0));
    assert_eq!(status(&[]), Some(1));
    server.stop();
    assert_eq!(status(&[&address]), Some(2));
    // Something that is no gRPC server.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("-addr={}", silent.local_addr().unwrap());
    assert_eq!(status(&[&address, "-connect-timeout=60s", "-rpc-timeout=100ms"]), Some(3));
}

#[test]
fn opm_personality_takes_the_same_arguments() {
    let dir = catalog();
    let opm = dir.path().join("opm");
    symlink(env!("CARGO_BIN_EXE_bundle-tool"), &opm).unwrap();
    let arguments = [
        "serve",
        "catalog",
        "--cache-dir=cache",
        "--cache-only",
        "-p",
        "50051",
        "-t",
        "/dev/null",
        "--pprof-addr=localhost:6060",
        "--debug",
    ];
    assert!(Command::new(opm).args(arguments).current_dir(dir.path()).status().unwrap().success());
    assert!(dir.path().join("cache/catalog.index").is_file());
}

#[test]
fn invalid_clients_lose_only_their_own_connections() {
    let dir = catalog();
    let server = Server::start(dir.path(), &["catalog"]);
    let connect = || {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    };
    // One that never says anything must not keep the others.
    let silent = connect();
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"[..],
        b"\0\0\0\0",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnot a frame, but long enough to be read as one",
    ] {
        let mut stream = connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // The connection ends, whatever is written before.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    runtime().block_on(async {
        let client = Client::connect(("127.0.0.1", server.port)).await.unwrap();
        // Not a message.
        let garbage = PackageName { name: "\u{7f}".repeat(100) };
        let error = client.call("/api.Registry/GetBundle", &garbage).await.unwrap_err();
        assert_eq!(error.code() as i32, 2, "{error}");
        let large = PackageName { name: "x".repeat(2 << 20) };
        let error = client.call("/api.Registry/GetBundle", &large).await.unwrap_err();
        assert!(error.message().contains("too large"), "{error}");
        let names = Names { first: "gizmo".into(), second: "stable".into(), ..Names::default() };
        let bundle = client.call("/api.Registry/GetBundleForChannel", &names).await.unwrap();
        assert_eq!(Bundle::decode(bundle).unwrap().csv_name, "gizmo.v1.1.0");
    });
    drop(silent);
    server.stop();
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// What a client sends that asks for `calls` lists of all bundles, allows any amount of data, and reads none of it.
fn lists_that_nobody_reads(calls: u32) -> Vec<u8> {
    const PATH: &[u8] = b"/api.Registry/ListBundles";
    // Names of HPACK's static table, values as they are (RFC 7541, section 6.2.2).
    let mut headers = vec![0x83, 0x86, 0x01, 1, b'x', 0x04, 25];
    headers.extend_from_slice(PATH);
    headers.extend_from_slice(b"\x0f\x10\x10application/grpc\x00\x02te\x08trailers");
    let settings = frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
    let window = frame(8, 0, 0, &[0x7f, 0xff, 0, 0]);
    let mut bytes = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", settings.as_slice(), &window].concat();
    for call in 0..calls {
        bytes.extend(frame(1, 4, 2 * call + 1, &headers));
        bytes.extend(frame(0, 1, 2 * call + 1, &[0; 5]));
    }
    bytes
}

#[test]
fn stalled_clients_cost_no_memory_and_delay_nobody() {
    const CLIENTS: usize = 20;
    const CALLS: u32 = 100;
    let dir = catalog();
    let mut text = CATALOG.to_owned();
    // Each list has 4 MB, so that all of them together would have 8 GB.
    for bundle in 0..200 {
        let package = format!("package-{bundle}");
        let value = "x".repeat(20_000);
        write!(
            text,
            "---\n{{schema: olm.package, name: {package}, defaultChannel: a}}
---\n{{schema: olm.channel, package: {package}, name: a, entries: [{{name: {package}.v1.0.0}}]}}
---\n{{schema: olm.bundle, package: {package}, name: {package}.v1.0.0, image: example.com/x, properties: [
{{type: olm.package, value: {{packageName: {package}, version: 1.0.0}}}}, {{type: example, value: {value}}}]}}\n"
        )
        .unwrap();
    }
    fs::write(dir.path().join("catalog/catalog.yaml"), text).unwrap();
    let server = Server::start(dir.path(), &["catalog"]);
    let status = || fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let peak = || {
        let status = status();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    };
    let before = peak();
    let clients: Vec<TcpStream> = (0..CLIENTS)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stream.write_all(&lists_that_nobody_reads(CALLS)).unwrap();
            stream
        })
        .collect();
    // Others are served while those wait.
    for _ in 0..10 {
        assert_eq!(server.packages().len(), 201);
    }
    // The server has begun to answer all of them.
    for stream in &clients {
        stream.set_read_timeout(Some(LONG)).unwrap();
        assert!(stream.peek(&mut [0; 1000]).unwrap() > 0);
    }
    let used = peak() - before;
    assert!(used < 200, "{used} MiB");
    // Neither do they keep the server from stopping.
    server.stop();
}

#[test]
fn hundreds_of_clients_with_a_thousand_calls_are_served() {
    let dir = catalog();
    let server = Server::start(dir.path(), &["catalog"]);
    runtime().block_on(async {
        let mut clients = Vec::new();
        for _ in 0..400 {
            clients.push(Client::connect(("127.0.0.1", server.port)).await.unwrap());
        }
        let calls = clients
            .iter()
            .flat_map(|client| (0..3).map(move |_| client.list("/api.Registry/ListBundles", NAMES, &[])));
        for result in futures::future::join_all(calls).await {
            assert_eq!(result.unwrap().len(), 2);
        }
    });
    assert_eq!(server.stop(), "serving 1 package with 1 channel\n");
}

const NAMES: &Names =
    &Names { first: String::new(), second: String::new(), third: String::new(), fourth: String::new() };

#[test]
fn files_do_not_block_the_start() {
    let dir = catalog();
    assert!(Command::new("mkfifo").arg("fifo").current_dir(dir.path()).status().unwrap().success());
    let err = failed(
        dir.path(),
        &["catalog", "--index", "fifo", "--cache-enforce-integrity", "--termination-log", "fifo"],
    );
    assert!(err.contains("expected a regular file, found a FIFO"), "{err}");
}
