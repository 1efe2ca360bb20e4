//! Commands that use a cluster, as far as they can be tested without one.

use std::path::Path;
use std::process::{Command, Output};

fn tool(arguments: &[&str], kubeconfig: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", "/nonexistent")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const COMMANDS: [&[&str]; 4] = [
    &["doctor"],
    &["cleanup", "gizmo-operator"],
    &["run", "bundle", "tests/fixtures/bundle"],
    &["run", "bundle-upgrade", "tests/fixtures/bundle"],
];

#[test]
fn without_a_cluster_there_is_one_error() {
    let directory = tempfile::tempdir().unwrap();
    let server = directory.path().join("closed");
    std::fs::write(
        &server,
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n\
         clusters: [{name: a, cluster: {server: \"https://127.0.0.1:1\"}}]\nusers: [{name: a, user: {token: SECRET}}]\n",
    )
    .unwrap();
    let invalid = directory.path().join("invalid");
    std::fs::write(&invalid, "users: [{").unwrap();
    for (kubeconfig, expected) in [
        (directory.path().join("missing"), "no cluster is configured"),
        (invalid, "no cluster is configured"),
        (server, "the API server https://127.0.0.1:1/ does not respond"),
    ] {
        for command in COMMANDS {
            let output = tool(command, &kubeconfig);
            let err = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {err}");
            let errors: Vec<_> = err.lines().filter(|line| line.starts_with("error: ")).collect();
            assert_eq!(errors.len(), 1, "{command:?}: {err}");
            assert!(errors[0].contains(expected), "{command:?}: {err}");
            assert!(!err.contains("SECRET") && output.stdout.is_empty(), "{command:?}: {err}");
        }
    }
}

#[test]
fn the_manifests_are_printed_without_a_cluster() {
    let arguments = [
        "run",
        "bundle",
        "tests/fixtures/bundle",
        "-n",
        "gizmos",
        "--create-namespace",
        "--dry-run=client",
        "--opm-image",
        "quay.io/operator-framework/opm:v1.73.0",
        "--install-mode",
        "OwnNamespace",
    ];
    let output = tool(&arguments, Path::new("/nonexistent"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let kinds: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(
        kinds,
        ["Namespace", "ConfigMap", "Deployment", "Service", "CatalogSource", "OperatorGroup", "Subscription"]
    );
}

#[test]
fn doctor_reads_a_must_gather() {
    let gather =
        |arguments: &[&str]| tool(&[&["doctor", "--from"], arguments].concat(), Path::new("/nonexistent"));
    let directory = tempfile::tempdir().unwrap();
    let namespace = directory.path().join("namespaces/ns");
    std::fs::create_dir_all(&namespace).unwrap();
    std::fs::copy("tests/fixtures/cluster/crash.json", namespace.join("all.json")).unwrap();
    std::fs::write(namespace.join("broken.yaml"), "a: [").unwrap();
    let path = directory.path().display().to_string();
    let output = gather(&[&path]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let err = text(&output.stderr);
    assert!(err.starts_with("warning: skipped a file: ") && err.contains("broken.yaml"), "{err}");
    insta::assert_snapshot!("doctor-must-gather", text(&output.stdout));
    let output = gather(&[&path, "-o", "json", "gizmo-crash"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["problems"][0]["reason"], "container-crashes");
    let output = gather(&[&path, "another"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no subscription for package `another`"));
    let empty = tempfile::tempdir().unwrap();
    let output = gather(&[&empty.path().display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("contains no objects"));
}
