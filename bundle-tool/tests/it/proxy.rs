//! Registries behind an HTTP proxy, which the environment names.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::push::{BUNDLE, Registry, failure, stdout, tool};

/// A host that is never resolved (RFC 2606): it is reached through the proxy or not at all.
const HOST: &str = "registry.invalid";

/// A proxy that leads to one registry, whatever is asked for.
struct Proxy {
    address: String,
    /// The request lines, and the lines with the user's name and password.
    log: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(registry: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (registry, written) = (registry.to_owned(), Arc::clone(&log));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (registry, log) = (registry.clone(), Arc::clone(&written));
                // What breaks here is the client's error.
                thread::spawn(move || forward(&stream?, &registry, &log));
            }
        });
        Self { address, log }
    }

    /// Returns what was logged since the last call.
    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

/// Serves one connection: a tunnel, or one request.
fn forward(client: &TcpStream, registry: &str, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let Some(request) = lines.first() else { return Ok(()) };
    let mut logged = vec![request.clone()];
    logged.extend(lines.iter().filter(|line| line.starts_with("proxy-authorization: ")).cloned());
    log.lock().unwrap().extend(logged);
    let mut server = TcpStream::connect(registry)?;
    if request.starts_with("CONNECT ") {
        let mut client = client;
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    } else {
        // To a proxy, the path is a whole URL. Each connection has one request.
        let line = request.replacen(&format!("http://{HOST}/"), "/", 1);
        let headers = lines[1..].iter().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
        let head: String = headers.map(|line| format!("{line}\r\n")).collect();
        server.write_all(format!("{line}\r\n{head}connection: close\r\n\r\n").as_bytes())?;
    }
    let (mut to_server, mut from_server, mut to_client) = (server.try_clone()?, server, client.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut reader, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let copied = io::copy(&mut from_server, &mut to_client);
    let _ = client.shutdown(Shutdown::Both);
    copied.map(drop)
}

/// Runs the tool with these variables, and no others for a proxy.
fn run(directory: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = tool(directory);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    command.envs(variables.iter().copied()).args(arguments).output().unwrap()
}

#[test]
fn registry_with_tls_is_reached_through_a_tunnel() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
    fs::write(directory.join("cert.pem"), key.cert.pem()).unwrap();
    fs::write(directory.join("key.pem"), key.signing_key.serialize_pem()).unwrap();
    let registry =
        Registry::start_with(directory, &["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--host", HOST]);
    let proxy = Proxy::start(&registry.address);
    let url = format!("http://{}", proxy.address);
    let name = format!("{HOST}/gizmo-bundle:v1");
    let push = ["push", "bundle", BUNDLE, &name, "--ca-file", "cert.pem"];
    let connect = format!("CONNECT {HOST}:443 HTTP/1.1");

    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        stdout(&run(directory, &[(variable, &url), ("NO_PROXY", "other.invalid")], &push));
        let log = proxy.taken();
        assert!(!log.is_empty() && log.iter().all(|line| *line == connect), "{variable}: {log:?}");
    }
    let copy = ["copy", &name, "oci:copy", "--ca-file", "cert.pem"];
    stdout(&run(directory, &[("HTTPS_PROXY", &url)], &copy));
    assert!(!proxy.taken().is_empty());

    // The proxy gets its own password, and the registry's certificate is verified through it.
    let with_password = format!("http://alice:hunter2@{}", proxy.address);
    stdout(&run(directory, &[("HTTPS_PROXY", &with_password)], &push));
    let log = proxy.taken();
    assert!(log.contains(&"proxy-authorization: Basic YWxpY2U6aHVudGVyMg==".to_owned()), "{log:?}");
    let error = failure(&run(directory, &[("HTTPS_PROXY", &with_password)], &push[..4]));
    assert!(error.contains("--ca-file") && !error.contains("hunter2"), "{error}");
    assert!(!proxy.taken().is_empty());

    for exempt in [HOST, ".invalid", "*"] {
        let error = failure(&run(directory, &[("HTTPS_PROXY", &url), ("NO_PROXY", exempt)], &push));
        assert!(error.contains("failed to connect to the registry registry.invalid"), "{exempt}: {error}");
        assert_eq!(proxy.taken(), [""; 0], "{exempt}");
    }
    // The proxy for HTTP is not the one for HTTPS.
    failure(&run(directory, &[("HTTP_PROXY", &url)], &push));
    assert_eq!(proxy.taken(), [""; 0]);
}

#[test]
fn registry_without_tls_is_reached_by_whole_urls() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start_with(directory, &["--host", HOST]);
    let proxy = Proxy::start(&registry.address);
    let url = format!("http://{}", proxy.address);
    let name = format!("{HOST}/gizmo-bundle:v1");
    let plain = format!("--plain-http={HOST}");
    let push = ["push", "bundle", BUNDLE, &name, &plain];
    stdout(&run(directory, &[("HTTP_PROXY", &url)], &push));
    let log = proxy.taken();
    assert!(log.contains(&format!("GET http://{HOST}/v2/ HTTP/1.1")), "{log:?}");
    assert!(log.iter().all(|line| line.contains(&format!(" http://{HOST}/v2/"))), "{log:?}");
    stdout(&run(directory, &[("HTTP_PROXY", &url)], &["copy", &name, "oci:copy", &plain]));
    assert!(!proxy.taken().is_empty());
    let error = failure(&run(directory, &[("HTTP_PROXY", &url), ("NO_PROXY", HOST)], &push));
    assert!(error.contains("failed to connect to the registry registry.invalid"), "{error}");
    assert_eq!(proxy.taken(), [""; 0]);

    // A registry on loopback is not the proxy's loopback.
    let local = format!("{}/other:v1", registry.address);
    stdout(&run(directory, &[("HTTP_PROXY", &url)], &["push", "bundle", BUNDLE, &local, "--plain-http"]));
    assert_eq!(proxy.taken(), [""; 0]);
}

#[test]
fn unreachable_proxy_is_named_as_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let name = format!("{HOST}/gizmo-bundle:v1");
    let push = ["push", "bundle", BUNDLE, &name];
    let error = failure(&run(directory.path(), &[("HTTPS_PROXY", "http://127.0.0.1:1")], &push));
    assert!(
        error.ends_with(
            ": failed to connect to the registry registry.invalid: failed to connect to the proxy `127.0.0.1:1` \
             (HTTPS_PROXY): connection refused; check the proxy, or list the registry in NO_PROXY\n"
        ),
        "{error}"
    );
    let error =
        failure(&run(directory.path(), &[("HTTPS_PROXY", "http://bob:hunter2@proxy.invalid:80")], &push));
    let expected =
        "the proxy `proxy.invalid:80` (HTTPS_PROXY): failed to resolve the host name `proxy.invalid`";
    assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
    let error = failure(&run(directory.path(), &[], &push));
    let expected = "the registry registry.invalid: failed to resolve the host name `registry.invalid`";
    assert!(error.contains(expected), "{error}");
}
