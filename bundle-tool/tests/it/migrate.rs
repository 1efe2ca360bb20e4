//! `bundle-tool olm migrate`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::api_server::ApiServer;
use crate::support::{fixture, utf8};

fn migrate(arguments: &[&str], kubeconfig: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(["olm", "migrate"])
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", "/nonexistent")
        .output()
        .unwrap()
}

fn offline(arguments: &[&str]) -> Output {
    migrate(arguments, Path::new("/nonexistent"))
}

#[test]
fn migrate_prints_manifests_and_steps_for_a_bundle() {
    let bundle = fixture("bundle").display().to_string();
    let image = ["--catalog-image", "quay.io/example/gizmo-catalog:v1"];
    let output = offline(&[&[bundle.as_str(), "-n", "gizmos"], &image[..]].concat());
    assert!(output.status.success(), "{}", utf8(&output.stderr));
    insta::assert_snapshot!("migrate-bundle", utf8(&output.stdout));
    let output = offline(&[&[bundle.as_str(), "-o", "yaml"], &image[..]].concat());
    let kinds = utf8(&output.stdout);
    let kinds: Vec<_> = kinds.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(kinds, ["ClusterCatalog", "Namespace", "ClusterExtension"]);
    // The API server would reject the extension.
    let output = offline(&[bundle.as_str(), "--channel", "Stable 1", "-o", "yaml"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(utf8(&output.stderr).contains("error[channel-name-invalid]"), "{}", utf8(&output.stderr));
}

#[test]
fn packages_of_a_catalog_are_blocked_by_the_rules_of_olm_v1() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = |package: &str, properties: &[Value]| {
        let mut all =
            vec![json!({"type": "olm.package", "value": {"packageName": package, "version": "1.0.0"}})];
        all.extend_from_slice(properties);
        [
            json!({"schema": "olm.package", "name": package, "defaultChannel": "stable"}),
            json!({"schema": "olm.channel", "name": "stable", "package": package,
                "entries": [{"name": format!("{package}.v1.0.0")}]}),
            json!({"schema": "olm.bundle", "name": format!("{package}.v1.0.0"), "package": package,
                "image": "quay.io/example/a:v1", "properties": all}),
        ]
    };
    let metadata = |mode: &str| json!({"type": "olm.csv.metadata", "value": {"installModes": [{"type": mode, "supported": true}]}});
    let required =
        json!({"type": "olm.package.required", "value": {"packageName": "x", "versionRange": ">1"}});
    let blobs = [
        bundle("free", &[metadata("AllNamespaces")]),
        bundle("needs", &[metadata("AllNamespaces"), required]),
        bundle("own", &[metadata("OwnNamespace")]),
    ];
    let lines: Vec<String> = blobs.iter().flatten().map(ToString::to_string).collect();
    std::fs::write(directory.path().join("catalog.json"), lines.join("\n")).unwrap();
    let catalog = directory.path().display().to_string();
    let output = offline(&[&catalog]);
    assert_eq!(output.status.code(), Some(1), "{}", utf8(&output.stderr));
    insta::assert_snapshot!("migrate-catalog", utf8(&output.stdout));
    assert!(offline(&[&catalog, "--package", "free"]).status.success());
    let output = offline(&[&catalog, "-o", "json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["plans"][1]["blockers"][0]["reason"], "olmv1-dependency-unsupported");
    assert_eq!(found["plans"][0]["complete"], false);
    // What is blocked has no manifests.
    let output = offline(&[&catalog, "--package", "own", "-o", "yaml"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(utf8(&output.stderr).contains("error[olmv1-install-mode-missing]"));
}

#[test]
fn migrate_reports_one_error_for_bad_input() {
    let bundle = fixture("bundle").display().to_string();
    let directory = tempfile::tempdir().unwrap();
    let catalog = directory.path().join("catalog.yaml");
    let package = |name: &str, channel: &str| {
        format!(
            "---\n{{schema: olm.package, name: {name}, defaultChannel: {channel}}}\n---\n{{schema: olm.channel, name: {channel}, \
             package: {name}, entries: [{{name: {name}.v1.0.0}}]}}\n---\n{{schema: olm.bundle, name: {name}.v1.0.0, package: {name}, \
             image: a, properties: [{{type: olm.package, value: {{packageName: {name}, version: 1.0.0}}}}]}}\n"
        )
    };
    std::fs::write(&catalog, package("a", "alpha") + &package("b", "beta")).unwrap();
    let catalog = catalog.display().to_string();
    // A channel that only another package has blocks the package, and is not the catalog's fault.
    let output = offline(&[&catalog, "--channel", "alpha"]);
    assert_eq!(output.status.code(), Some(1), "{}", utf8(&output.stderr));
    let out = utf8(&output.stdout);
    assert!(
        out.contains(
            "b: cannot be moved to OLM v1\n  error[channel-unknown]: the package has no channel `alpha`"
        ),
        "{out}"
    );
    assert!(out.contains("help: choose one of its channels with --channel: `beta`"), "{out}");
    for (arguments, expected) in [
        (&["/nonexistent/x"][..], "/nonexistent/x"),
        (&[&bundle, "-n", "A_b"], "invalid namespace `A_b`"),
        (&[&bundle, "--package", "other"], "package `other` is not in"),
        (&[&bundle, "--catalog-image", "oci:x"], "invalid catalog image `oci:x`"),
        (&["gizmo-operator", "--package", "other"], "--package and --watch-namespace require a catalog"),
        (&[&catalog, "--channel", "nope"], "its channels are `alpha`, `beta`"),
    ] {
        let output = offline(arguments);
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
        assert!(output.stdout.is_empty() && err.lines().count() == 1 && err.contains(expected), "{err}");
    }
}

/// A cluster with an operator that OLM v0 has installed; `has_v1` is whether it has OLM v1 too.
fn cluster(has_v1: bool) -> ApiServer {
    cluster_with(has_v1, 1)
}

/// The same, whose operator owns a number of CRDs.
fn cluster_with(has_v1: bool, crds: usize) -> ApiServer {
    let crd = |index| json!({"name": format!("gizmos{index}.example.com"), "kind": "Gizmo", "version": "v1"});
    let owned: Vec<_> = (0..crds).map(crd).collect();
    ApiServer::start(move |request, _| {
        let list = |items: Value| (200, json!({"items": items}));
        let path = request.strip_prefix("GET /apis/").unwrap_or_default();
        match path {
            "operators.coreos.com/v1alpha1/subscriptions" => list(json!([{
                "metadata": {"name": "gizmo", "namespace": "gizmos"},
                "spec": {"name": "gizmo-operator", "channel": "stable", "source": "cat", "sourceNamespace": "olm"},
                "status": {"installedCSV": "gizmo.v1.2.0"}}])),
            "operators.coreos.com/v1alpha1/clusterserviceversions" => list(json!([{
                "metadata": {"name": "gizmo.v1.2.0", "namespace": "gizmos", "annotations": {
                    "operatorframework.io/properties":
                        "{\"properties\": [{\"type\": \"olm.package.required\", \"value\": {\"packageName\": \"x\"}}]}"}},
                "spec": {"version": "1.2.0", "installModes": [{"type": "AllNamespaces", "supported": true}],
                    "customresourcedefinitions": {"owned": owned}},
                "status": {"phase": "Succeeded"}}])),
            "operators.coreos.com/v1/operatorgroups" => {
                list(json!([{"metadata": {"name": "all", "namespace": "gizmos"}}]))
            }
            "operators.coreos.com/v1alpha1/catalogsources" => list(json!([{
                "metadata": {"name": "cat", "namespace": "olm"}, "spec": {"image": "quay.io/example/catalog:v1"}}])),
            "operators.coreos.com/v1alpha1/installplans" => list(json!([])),
            "olm.operatorframework.io/v1" if has_v1 => (200, json!({"kind": "APIResourceList"})),
            _ => (404, json!({"message": "not found"})),
        }
    })
}

#[test]
fn migrate_plans_an_installed_operator_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    for (has_v1, expected) in [
        (true, vec!["olmv1-dependency-unsupported"]),
        (false, vec!["olm-v1-missing", "olmv1-dependency-unsupported"]),
    ] {
        let server = cluster(has_v1);
        server.kubeconfig(&kubeconfig);
        let output = migrate(&["gizmo-operator", "-o", "json"], &kubeconfig);
        assert_eq!(output.status.code(), Some(1), "{}", utf8(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let blockers = found["plans"][0]["blockers"].as_array().unwrap();
        assert_eq!(blockers.iter().map(|one| &one["reason"]).collect::<Vec<_>>(), expected);
        assert!(
            server.requests().iter().all(|request| request.starts_with("GET ")),
            "{:?}",
            server.requests()
        );
    }
    let output = migrate(&["other-operator"], &kubeconfig);
    assert_eq!(output.status.code(), Some(2));
    assert!(utf8(&output.stderr).contains("package `other-operator` is not installed"));
}

#[test]
fn crds_that_are_not_checked_are_noted() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    for (crds, expected) in [(500, false), (501, true)] {
        cluster_with(true, crds).kubeconfig(&kubeconfig);
        let out = utf8(&migrate(&["gizmo-operator"], &kubeconfig).stdout);
        let note = "  note: only the first 500 of the operator's 501 CRDs are checked\n";
        assert_eq!(out.contains(note), expected, "{out}");
    }
}

#[test]
fn package_name_is_never_taken_for_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    crate::support::copy_bundle(directory.path().join("gizmo-operator"));
    let kubeconfig = directory.path().join("kubeconfig");
    cluster(true).kubeconfig(&kubeconfig);
    let migrate = |target: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
        command.args(["olm", "migrate", target]).current_dir(directory.path()).env("KUBECONFIG", &kubeconfig);
        utf8(&command.output().unwrap().stdout)
    };
    assert!(migrate("gizmo-operator").starts_with("gizmo-operator (gizmo.v1.2.0)"));
    assert!(migrate("./gizmo-operator").starts_with("gizmo-operator (gizmo-operator.v1.2.0)"));
}
