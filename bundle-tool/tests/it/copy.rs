//! `copy` as a user runs it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::push::{BUNDLE, Registry, failure, run, stdout, tool};

#[test]
fn bundle_is_copied_between_all_places() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let address = &registry.address;
    let name = "quay.io/example/gizmo-bundle:v1";
    stdout(&run(directory, &["push", "bundle", BUNDLE, name, "--to", "oci:layout"]));
    let target = format!("{address}/mirror/gizmo-bundle:v1");
    let printed =
        stdout(&run(directory, &["copy", "oci:layout", &target, "--plain-http", "--digest-file", "digest"]));
    let digest = fs::read_to_string(directory.join("digest")).unwrap();
    assert_eq!(printed, format!("{address}/mirror/gizmo-bundle@{digest}\n"));
    let printed = stdout(&run(directory, &["copy", &target, "docker-archive:bundle.tar", "--plain-http"]));
    assert_eq!(printed, "docker-archive:bundle.tar\n");
    stdout(&run(
        directory,
        &["copy", "docker-archive:bundle.tar", "oci:again:v1", "--digest-file", "again.txt"],
    ));
    assert_eq!(fs::read_to_string(directory.join("again.txt")).unwrap(), digest);
    stdout(&run(directory, &["validate", "oci:again:v1"]));
}

#[test]
fn copy_to_a_layout_or_an_archive_needs_no_temporary_directory() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    stdout(&run(directory, &["push", "bundle", BUNDLE, &name, "--plain-http"]));
    for target in ["oci:new/layout:v1", "oci-archive:new.tar", "docker-archive:docker.tar"] {
        let mut command = tool(directory);
        // Often memory, or small.
        command.args(["copy", &name, target, "--plain-http"]).env("TMPDIR", directory.join("none"));
        assert_eq!(stdout(&command.output().unwrap()), format!("{target}\n"));
    }
    let left = |name: &str| fs::read_dir(directory.join(name)).unwrap().count();
    assert_eq!(left("new/layout"), 3, "blobs, index.json and oci-layout");
    stdout(&run(directory, &["validate", "oci-archive:new.tar"]));
}

#[test]
fn copy_explains_why_it_is_not_possible() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let error = failure(&run(directory, &["copy", "oci:none", "oci:target"]));
    assert!(
        error.starts_with("error: failed to copy oci:none to oci:target: failed to read none/index.json"),
        "{error}"
    );
    assert!(!directory.join("target").exists());
    let error = failure(&run(directory, &["copy", "oci:", "x"]));
    assert!(error.contains("expected a path after `oci:`"), "{error}");
    stdout(&run(directory, &["push", "bundle", BUNDLE, "quay.io/example/a:v1", "--to", "oci:layout"]));
    let error = failure(&run(directory, &["copy", "oci:layout", "oci-archive:/proc/none/x.tar"]));
    assert!(error.contains("/proc/none"), "{error}");
}

/// Runs the tool with `conf` as its registries.conf.
fn run_with(directory: &Path, conf: &str, arguments: &[&str]) -> Output {
    fs::write(directory.join("registries.conf"), conf).unwrap();
    let mut command = tool(directory);
    command.args(arguments).env("CONTAINERS_REGISTRIES_CONF", "registries.conf").output().unwrap()
}

#[test]
fn registries_conf_allows_and_blocks_writing() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let address = &registry.address;
    stdout(&run(directory, &["push", "bundle", BUNDLE, "quay.io/example/a:v1", "--to", "oci:layout"]));
    let target = format!("{address}/a:v1");
    let conf = format!("[[registry]]\nlocation = \"{address}\"\ninsecure = true\n");
    stdout(&run_with(directory, &conf, &["copy", "oci:layout", &target]));
    stdout(&run_with(directory, &conf, &["push", "bundle", BUNDLE, &target]));
    let conf = format!("{conf}blocked = true\n");
    for arguments in [&["copy", "oci:layout", &target], &["inspect", &target, "--plain-http"][..]] {
        let error = failure(&run_with(directory, &conf, arguments));
        let expected = format!("access to {address}/a is blocked by registries.conf");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn failed_mirrors_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let conf = format!(
        "[[registry]]\nprefix = \"quay.io\"\nlocation = \"127.0.0.1:1\"\n\
         [[registry.mirror]]\nlocation = \"127.0.0.1:2\"\n\
         [[registry.mirror]]\nlocation = \"{}\"\ninsecure = true\n",
        registry.address
    );
    let error = failure(&run_with(directory, &conf, &["inspect", "quay.io/a/b:v1"]));
    let expected = format!("127.0.0.1:2 (connection refused), {} (it does not", registry.address);
    assert!(
        error.contains("failed to connect to the registry 127.0.0.1:1") && error.contains(&expected),
        "{error}"
    );
}

#[test]
fn plain_http_applies_to_registries_on_loopback() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let target = format!("{}/a:v1", registry.address);
    // The source is tried over TLS: its name is not resolved.
    let error = failure(&run(directory, &["copy", "registry.invalid/a:v1", &target, "--plain-http"]));
    assert!(error.contains("failed to connect to the registry registry.invalid"), "{error}");
    assert!(!error.contains("--plain-http=registry.invalid"), "{error}");
}

#[test]
fn killed_copy_leaves_no_temporary_files() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let temporary = directory.join("temporary");
    fs::create_dir(&temporary).unwrap();
    // Accepts and does not answer. By then, the layers are in temporary files.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("{}/a:v1", listener.local_addr().unwrap());
    let mut command = tool(directory);
    command.args(["push", "bundle", BUNDLE, &target, "--plain-http"]).env("TMPDIR", &temporary);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let connection = listener.accept().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(connection);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn image_of_another_platform_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let name = format!("{}/app:v1", registry.address);
    fs::write(directory.join("run"), "#!/bin/sh\n").unwrap();
    let push = ["push", "image", &name, "run=/run", "--platform", "linux/arm64"];
    stdout(&run(directory, &[&push[..], &["--plain-http"]].concat()));
    stdout(&run(directory, &[&push[..], &["--to", "oci:layout"]].concat()));
    for place in [name.as_str(), "oci:layout"] {
        let copy = |platform: &str| {
            run(directory, &["copy", place, "oci:copy", "--plain-http", "--platform", platform])
        };
        let inspect =
            |platform: &str| run(directory, &["inspect", place, "--plain-http", "--platform", platform]);
        for output in [copy("linux/amd64"), inspect("linux/amd64")] {
            let error = failure(&output);
            assert!(error.contains("contains no image for linux/amd64; found: linux/arm64"), "{error}");
        }
        assert!(!directory.join("copy").exists());
        stdout(&inspect("linux/arm64"));
    }
    stdout(&run(directory, &["copy", &name, "oci:copy", "--plain-http", "--platform", "linux/arm64"]));
}

#[test]
fn invalid_proxy_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let output = tool(directory)
        .args(["copy", "registry.invalid/app:v1", "oci:x"])
        .env("HTTPS_PROXY", "socks5://alice:hunter2@proxy")
        .output()
        .unwrap();
    let error = failure(&output);
    assert!(error.contains("invalid proxy in HTTPS_PROXY: expected http://HOST:PORT"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn cache_serves_images_copied_through_it() {
    let (origin, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let registry = Registry::start(origin.path());
    let name = format!("{}/app:v1", registry.address);
    stdout(&run(origin.path(), &["push", "bundle", BUNDLE, &name, "--plain-http"]));
    let proxy = Registry::start_with(cache.path(), &["--proxy", &registry.address, "--plain-http"]);
    let name = format!("{}/app:v1", proxy.address);
    stdout(&run(cache.path(), &["copy", &name, "oci:one", "--plain-http"]));
    registry.stop();
    stdout(&run(cache.path(), &["copy", &name, "oci:two", "--plain-http"]));
    let error = failure(&run(cache.path(), &["push", "bundle", BUNDLE, &name, "--plain-http"]));
    assert!(error.contains("the registry is a cache of"), "{error}");
    for (arguments, expected) in [
        (&["--ca-file", "x"][..], "--proxy <REGISTRY>"),
        (&["--proxy", "x", "--read-only"], "cannot be used with"),
    ] {
        let serve = ["registry", "serve", "--address", "127.0.0.1:0", "--dir", "other"];
        let error = failure(&run(cache.path(), &[&serve[..], arguments].concat()));
        assert!(error.contains(expected), "{error}");
    }
}
