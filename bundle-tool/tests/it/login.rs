//! `login`, `logout` and `auth explain` as a user runs them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::push::{BUNDLE, Registry, failure, run, stdout, tool};

/// alice's password is `secret`.
const USERS: &str = "alice:$2y$04$EQaLPwU9ATlLOFfHPB0mzejGhGmeikvz9FF8ANO71uwQZx0DcLOf6\n";

fn login(directory: &Path, scope: &str, password: &str) -> Output {
    let arguments = ["login", scope, "--username", "alice", "--password-stdin", "--plain-http"];
    let mut child = tool(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails before it reads closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(password.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn user_logs_in_pushes_and_logs_out() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::write(directory.join("users"), USERS).unwrap();
    let registry = Registry::start_with(directory, &["--htpasswd", "users"]);
    let address = &registry.address;
    let name = format!("{address}/gizmo-bundle:v1");
    let push = ["push", "bundle", BUNDLE, &name, "--plain-http"];
    let error = failure(&run(directory, &push));
    assert!(
        error.contains("for anonymous (no credentials found)") && error.contains("bundle-tool login"),
        "{error}"
    );

    let error = failure(&login(directory, address, "hunter2\n"));
    assert!(error.contains("rejected the login") && !error.contains("hunter2"), "{error}");
    assert!(!directory.join(".config").exists(), "nothing is stored");
    let output = login(directory, address, "secret\n");
    let error = String::from_utf8(output.stderr).unwrap();
    let path = directory.join(".config/containers/auth.json");
    assert_eq!(error, format!("Logged in to {address}; stored in {}\n", path.display()));
    stdout(&run(directory, &push));

    let explained = stdout(&run(directory, &["auth", "explain", &name]));
    assert!(!explained.contains("secret"), "{explained}");
    let shown =
        explained.replace(&directory.display().to_string(), "HOME").replace(address.as_str(), "REGISTRY");
    insta::assert_snapshot!("auth-explain", shown);

    let output = run(directory, &["logout", address]);
    assert!(output.status.success());
    failure(&run(directory, &push));
    let error = failure(&run(directory, &["logout", address]));
    assert!(error.contains("not logged in"), "{error}");
    let explained = stdout(&run(directory, &["auth", "explain", &name, "--output", "json"]));
    assert!(explained.contains("\"anonymous\": true"), "{explained}");
}

#[test]
fn login_requires_a_registry_and_a_password() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for (scope, password, expected) in [
        ("quay", "x", "expected a name, such as quay.io"),
        ("quay.io/A", "x", "expected a name, such as quay.io"),
        ("127.0.0.1:1", "", "no password on standard input"),
        ("127.0.0.1:1", "x", "failed to connect"),
    ] {
        let error = failure(&login(directory, scope, password));
        assert!(error.contains(expected), "{scope}: {error}");
    }
}

#[test]
fn mirrors_are_read_first() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let name = format!("{}/mirror/gizmo-bundle:v1", registry.address);
    stdout(&run(directory, &["push", "bundle", BUNDLE, &name, "--plain-http"]));
    let conf = format!(
        "[[registry]]\nprefix = \"registry.invalid\"\n[[registry.mirror]]\nlocation = \"127.0.0.1:1\"\n[[registry.mirror]]\nlocation = \"{}/mirror\"\ninsecure = true\n",
        registry.address
    );
    fs::create_dir_all(directory.join(".config/containers")).unwrap();
    fs::write(directory.join(".config/containers/registries.conf"), conf).unwrap();
    stdout(&run(directory, &["validate", "registry.invalid/gizmo-bundle:v1"]));
    let error = failure(&run(directory, &["inspect", "registry.invalid/other:v1"]));
    assert!(error.contains("registry.invalid"), "{error}");
}

#[test]
fn garbage_is_collected_while_the_registry_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    stdout(&run(directory, &["push", "bundle", BUNDLE, &name, "--plain-http"]));
    let gc = ["registry", "gc", "--dir", "registry", "--untagged"];
    assert!(failure(&run(directory, &gc)).contains("in use by another server"));
    assert_eq!(registry.stop(), Some(0));
    let as_json = [&gc[..], &["--dry-run", "--output", "json"]].concat();
    let nothing = "{\n  \"version\": 1,\n  \"dryRun\": true,\n  \"manifests\": 0,\n  \"blobs\": 0,\n  \"bytes\": 0\n}\n";
    assert_eq!(stdout(&run(directory, &as_json)), nothing);
    assert_eq!(stdout(&run(directory, &gc)), "removed 0 untagged manifests and 0 blobs (0 bytes)\n");
    fs::remove_file(directory.join("registry/repositories/gizmo-bundle/_tags/v1")).unwrap();
    let removed = stdout(&run(directory, &gc));
    assert!(removed.starts_with("removed 1 untagged manifests and 4 blobs"), "{removed}");
}
