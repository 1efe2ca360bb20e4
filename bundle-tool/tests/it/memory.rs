//! Hostile input with little memory: each command ends with its own error, not with the system's.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use serde_json::json;

use crate::support::copy_bundle;

/// What a process may map, in KiB: the program itself, its threads' stacks and some 500 MB more.
const ADDRESS_SPACE: u32 = 800 << 10;

/// Runs `bundle-tool` within [`ADDRESS_SPACE`].
fn limited(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    limited_to(ADDRESS_SPACE, directory, arguments, environment)
}

/// Runs `bundle-tool`, which may map so many KiB.
fn limited_to(
    address_space: u32,
    directory: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Output {
    let tool = env!("CARGO_BIN_EXE_bundle-tool");
    let logins = directory.join("no-logins.json");
    fs::write(&logins, "{}").unwrap();
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {address_space} && exec \"$0\" \"$@\""), tool])
        .args(arguments)
        .env("HOME", directory)
        .env("REGISTRY_AUTH_FILE", logins)
        .envs(environment.iter().copied())
        .current_dir(directory)
        .output()
        .unwrap()
}

/// Runs `bundle-tool` on input that it has to refuse, and returns what it says.
fn refused(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = limited(directory, arguments, environment);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let start: String = error.chars().take(2000).collect();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {:?} {start}", output.status);
    assert!(error.starts_with("error: ") && error.len() < 2000, "{arguments:?}: {start}");
    error
}

/// A registry that begins every answer like this, and never ends it. Returns its address.
fn endless(begin: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let host = address.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let begin = begin.replace("HOST", &host);
            std::thread::spawn(move || stream.map(|stream| answer(stream, &begin)));
        }
    });
    address
}

/// Answers the only request of a connection.
fn answer(mut stream: TcpStream, begin: &str) {
    let mut request = Vec::new();
    let mut bytes = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => request.extend_from_slice(&bytes[..read]),
            _ => return,
        }
    }
    // A client is sent to the token server first.
    let is_token = request.starts_with(b"GET /token");
    let begin = if begin.contains("401") && is_token {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"token\": \""
    } else {
        begin
    };
    let is_whole = begin.contains("Content-Length");
    let chunk = vec![b'x'; 1 << 16];
    let mut sent = stream.write_all(begin.as_bytes());
    while sent.is_ok() && !is_whole {
        sent = stream.write_all(&chunk);
    }
}

#[test]
fn endless_answers_of_registries_are_limited() {
    let begins = [
        "HTTP/1.1 500 Internal Server Error\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\r\n{\"errors\": [{\"message\": \"",
        "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\n\r\n{\"schemaVersion\": 2, \"a\": \"",
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"http://HOST/token\",service=\"a\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-Long: ",
    ];
    let dir = tempfile::tempdir().unwrap();
    let never_ends = &|begin: &'static str| {
        let address = endless(begin);
        let image = format!("{address}/team/image:v1");
        for command in ["inspect", "validate", "render"] {
            let start = Instant::now();
            let error = refused(dir.path(), &[command, &image, "--plain-http", "--timeout", "60s"], &[]);
            assert!(error.contains(&address) && start.elapsed().as_secs() < 50, "{begin:?}: {error}");
        }
    };
    // Most of the time passes between attempts.
    std::thread::scope(|scope| {
        for begin in begins {
            scope.spawn(move || never_ends(begin));
        }
    });
}

#[test]
fn endless_credentials_are_limited() {
    let dir = tempfile::tempdir().unwrap();
    let image = "127.0.0.1:1/team/image:v1";
    let error = refused(dir.path(), &["inspect", image], &[("REGISTRY_AUTH_FILE", "/dev/zero")]);
    assert!(error.contains("/dev/zero"), "{error}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let helper = dir.path().join("docker-credential-endless");
        fs::write(&helper, "#!/bin/sh\nexec yes '{\"Username\":'\n").unwrap();
        fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(dir.path().join("auth.json"), r#"{"credHelpers": {"127.0.0.1:1": "endless"}}"#).unwrap();
        let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
        let error =
            refused(dir.path(), &["inspect", image], &[("REGISTRY_AUTH_FILE", "auth.json"), ("PATH", &path)]);
        assert!(error.contains("docker-credential-endless"), "{error}");
    }
}

#[test]
fn aliases_of_many_files_and_documents_are_limited() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    let aliases = format!("a: &a {}\nb: [{}]\n", "x".repeat(1000), "*a,".repeat(20_000));
    // Together, they stand for 1 GB.
    for file in 0..50 {
        let object = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{file}}}\n{aliases}");
        fs::write(bundle.join(format!("manifests/a{file}.yaml")), object).unwrap();
    }
    fs::create_dir(dir.path().join("catalog")).unwrap();
    let documents = format!("---\nschema: olm.unknown\n{aliases}").repeat(50);
    fs::write(dir.path().join("catalog/catalog.yaml"), documents).unwrap();
    for arguments in [
        &["validate", "bundle"][..],
        &["render", "bundle"],
        &["generate", "bundle", "--package", "a", "--input-dir", "bundle/manifests", "--output-dir", "out"],
        &["catalog", "validate", "catalog"],
        &["render", "catalog"],
    ] {
        let output = limited(dir.path(), arguments, &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        let said = format!("{error}{}", String::from_utf8_lossy(&output.stdout));
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {:?} {error}", output.status);
        assert!(said.contains("alias"), "{arguments:?}: {said:.2000}");
    }
    assert!(!dir.path().join("out").exists());
}

#[test]
fn layer_that_unpacks_to_more_than_memory_is_limited() {
    let dir = tempfile::tempdir().unwrap();
    // Only its size is on disk.
    fs::File::create(dir.path().join("zeros")).unwrap().set_len(600 << 20).unwrap();
    let image = ["push", "image", "example.com/bomb:v1", "zeros=/manifests/zeros.yaml", "--to", "oci:bomb"];
    let output = limited(dir.path(), &image, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for command in ["validate", "render"] {
        let error = refused(dir.path(), &[command, "oci:bomb"], &[]);
        assert!(error.contains("limit"), "{error}");
    }
}

#[test]
fn role_for_many_subjects_is_limited() {
    let dir = tempfile::tempdir().unwrap();
    let subjects: Vec<_> = (0..20_000)
        .map(|index| json!({"kind": "ServiceAccount", "name": format!("a{index}"), "namespace": "lakes"}))
        .collect();
    let rules: Vec<_> = (0..100)
        .map(|index| json!({"apiGroups": [format!("g{index}")], "resources": ["lakes"], "verbs": ["get"]}))
        .collect();
    let mut text = String::new();
    for object in [
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}, "subjects": subjects,
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "lake"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"serviceAccountName": "a1", "containers": [{"name": "a", "image": "example.com/a:v1"}]},
            }},
        }),
    ] {
        let _ = writeln!(text, "---\n{object}");
    }
    fs::create_dir(dir.path().join("in")).unwrap();
    fs::write(dir.path().join("in/all.yaml"), text).unwrap();
    let arguments =
        ["generate", "bundle", "--package", "lake", "--version", "1.0.0", "--input-dir", "in", "--quiet"];
    let output = limited(dir.path(), &arguments, &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error:.2000}");
    // The only account that the Deployment uses has the role once.
    let csv = dir.path().join("bundle/manifests/lake.clusterserviceversion.yaml");
    let csv = fs::read_to_string(csv).unwrap();
    assert_eq!(csv.matches("serviceAccountName: a1\n").count(), 2, "{csv:.4000}");
}

/// A fifth of the limit of the reader, in a fifth of the memory.
const MANY_DOCUMENTS: usize = 100_000;
const FOR_MANY_DOCUMENTS: u32 = ADDRESS_SPACE - (400 << 10);

#[test]
fn catalog_of_many_invalid_documents_is_validated() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("catalog")).unwrap();
    let validate = |document: &str| {
        fs::write(dir.path().join("catalog/a.yaml"), document.repeat(MANY_DOCUMENTS)).unwrap();
        limited_to(FOR_MANY_DOCUMENTS, dir.path(), &["catalog", "validate", "catalog"], &[])
    };
    // There are few documents without a schema.
    assert_eq!(validate("---\na: 1\n").status.code(), Some(2));
    let output = validate("---\nschema: x\npackage: 1\n");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{:?} {said:.2000}", output.status);
    assert!(said.contains("failed: "), "{said:.4000}");
}

#[test]
fn bundle_is_added_to_a_catalog_of_many_small_documents() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    fs::create_dir(dir.path().join("catalog")).unwrap();
    let file = dir.path().join("catalog/other.yaml");
    fs::write(&file, "---\nschema: x\n".repeat(MANY_DOCUMENTS)).unwrap();
    let add = ["catalog", "add", "catalog", "bundle", "--image", "example.com/a:v1"];
    let output = limited_to(FOR_MANY_DOCUMENTS, dir.path(), &add, &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{:?} {error:.2000}", output.status);
    assert_eq!(
        fs::read_dir(dir.path().join("catalog")).unwrap().count(),
        2,
        "the package and the other file"
    );
}
