//! `render manifests`: the objects for each install mode, their certificates and forms, and what cannot be rendered.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine as _;
use olm_model::read::manifests;
use serde_json::Value;

const BUNDLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundle");
const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    command.args(["render", "manifests"]).args(arguments).output().unwrap()
}

fn rendered(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn objects(yaml: &str) -> Vec<Value> {
    let documents = manifests::stream("out", yaml.as_bytes()).unwrap();
    documents.iter().map(|document| document.tree.root().to_json()).collect()
}

fn found<'o>(objects: &'o [Value], kind: &str) -> Vec<&'o Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

/// Copies the fixture with changes to its CSV.
fn bundle_with(directory: &Path, edits: &[(&str, &str)]) -> PathBuf {
    let target = directory.join("bundle");
    for file in [CSV, "manifests/gizmos.gadgets.example.com.crd.yaml", "metadata/annotations.yaml"] {
        let mut text = fs::read_to_string(Path::new(BUNDLE).join(file)).unwrap();
        for (old, new) in edits.iter().filter(|_| file == CSV) {
            assert!(text.contains(old), "{old}");
            text = text.replace(old, new);
        }
        let path = target.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    target
}

#[test]
fn bundle_is_rendered_as_yaml() {
    insta::assert_snapshot!(rendered(&[BUNDLE, "--namespace", "gizmos"]));
}

#[test]
fn permissions_follow_the_install_mode() {
    let all = objects(&rendered(&[BUNDLE, "-n", "gizmos"]));
    assert!(found(&all, "Role").is_empty());
    let lifted = found(&all, "ClusterRole")[1];
    assert_eq!(lifted["rules"][1]["resources"][0], "namespaces");
    for (mode, targets, roles) in
        [("OwnNamespace", "gizmos", vec!["gizmos"]), ("SingleNamespace=team-a", "team-a", vec!["team-a"])]
    {
        let objects = objects(&rendered(&[BUNDLE, "-n", "gizmos", "--install-mode", mode]));
        let namespaces: Vec<_> = found(&objects, "Role")
            .iter()
            .map(|role| role["metadata"]["namespace"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(namespaces, roles, "{mode}");
        assert_eq!(found(&objects, "ClusterRole").len(), 1);
        let binding = found(&objects, "RoleBinding")[0];
        assert_eq!(binding["subjects"][0]["namespace"], "gizmos");
        assert_eq!(binding["roleRef"]["name"], found(&objects, "Role")[0]["metadata"]["name"]);
        let deployment = found(&objects, "Deployment")[0];
        let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(annotations["olm.targetNamespaces"], targets);
        let webhook = &found(&objects, "ValidatingWebhookConfiguration")[0]["webhooks"][0];
        assert_eq!(webhook["namespaceSelector"]["matchExpressions"][0]["values"][0], targets);
    }
    // Without a mode, the first that the bundle supports.
    let directory = tempfile::tempdir().unwrap();
    let own = bundle_with(
        directory.path(),
        &[("{type: AllNamespaces, supported: true}", "{type: AllNamespaces, supported: false}")],
    );
    let objects = objects(&rendered(&[own.to_str().unwrap(), "-n", "gizmos"]));
    assert_eq!(found(&objects, "Role")[0]["metadata"]["namespace"], "gizmos");
}

#[test]
fn certificate_is_created_without_cert_manager() {
    let objects = objects(&rendered(&[BUNDLE, "-n", "gizmos", "--certificates", "self-signed"]));
    assert!(found(&objects, "Certificate").is_empty() && found(&objects, "Issuer").is_empty());
    let secret = found(&objects, "Secret")[0];
    assert_eq!(
        (secret["type"].as_str(), secret["metadata"]["name"].as_str()),
        (Some("kubernetes.io/tls"), Some("gizmo-operator-service-cert"))
    );
    assert!(secret["stringData"]["tls.key"].as_str().unwrap().starts_with("-----BEGIN PRIVATE KEY-----"));
    let client = &found(&objects, "ValidatingWebhookConfiguration")[0]["webhooks"][0]["clientConfig"];
    assert_eq!(client["service"]["name"], "gizmo-operator-service");
    // The authority is that of the certificate.
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let authority =
        base64::engine::general_purpose::STANDARD.decode(client["caBundle"].as_str().unwrap()).unwrap();
    let authority = write("ca.pem", &authority);
    let certificate = write("tls.pem", secret["stringData"]["tls.crt"].as_str().unwrap().as_bytes());
    if Command::new("openssl").arg("version").output().is_err() {
        test_support::skip("openssl is not installed");
        return;
    }
    let verify = |name: &str| {
        let mut command = Command::new("openssl");
        command.args(["verify", "-purpose", "sslserver", "-verify_hostname", name, "-CAfile"]);
        command.arg(&authority).arg(&certificate).output().unwrap().status.success()
    };
    assert!(verify("gizmo-operator-service.gizmos.svc"));
    assert!(!verify("gizmo-operator-service.others.svc"));
}

fn files(directory: &Path) -> BTreeMap<String, String> {
    walkdir::WalkDir::new(directory)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let name = entry.path().strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn kustomize_base_and_helm_chart_have_all_objects() {
    let directory = tempfile::tempdir().unwrap();
    let plain = objects(&rendered(&[BUNDLE, "-n", "gizmos"]));
    let base = directory.path().join("base");
    rendered(&[BUNDLE, "-n", "gizmos", "--output", "kustomize", "--output-dir", base.to_str().unwrap()]);
    let base = files(&base);
    let kustomization = objects(&base["kustomization.yaml"]);
    let resources: Vec<_> =
        kustomization[0]["resources"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let of_base: Vec<Value> = resources.iter().flat_map(|name| objects(&base[*name])).collect();
    assert_eq!(of_base, plain);

    let chart = directory.path().join("chart");
    rendered(&[BUNDLE, "--output", "helm", "--output-dir", chart.to_str().unwrap()]);
    let chart = files(&chart);
    insta::assert_snapshot!(chart["Chart.yaml"]);
    insta::assert_snapshot!(
        chart["templates/validatingwebhookconfiguration_vgizmo.gadgets.example.com.yaml"]
    );
    assert!(
        chart["templates/customresourcedefinition_gizmos.gadgets.example.com.yaml"]
            .starts_with("{{- if .Values.crds.install }}\n")
    );
    // With the values filled in, the objects are the same, but for the namespace, which Helm creates.
    let filled = |text: &str| {
        text.replace("{{ .Release.Namespace | quote }}", "\"gizmos\"")
            .replace("{{ .Release.Namespace }}", "gizmos")
            .replace("{{- if .Values.crds.install }}\n", "")
            .replace("{{- end }}\n", "")
    };
    let mut of_chart: Vec<Value> = chart
        .iter()
        .filter(|(name, _)| name.starts_with("templates/"))
        .flat_map(|(_, text)| objects(&filled(text)))
        .collect();
    for object in &mut of_chart {
        if object["kind"] == "CustomResourceDefinition" {
            assert_eq!(object["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
            let plain = found(&plain, "CustomResourceDefinition")[0];
            *object = plain.clone();
        }
    }
    for object in plain.iter().filter(|object| object["kind"] != "Namespace") {
        // Rules are part of a role's name only by their digest, which does not depend on the namespace.
        assert!(of_chart.contains(object), "{object}");
    }
    assert_eq!(of_chart.len() + 1, plain.len());
}

#[test]
fn render_reports_one_error_for_an_invalid_bundle() {
    let directory = tempfile::tempdir().unwrap();
    let path = |edits: &[(&str, &str)]| {
        let bundle = directory.path().join("bundle");
        let _ = fs::remove_dir_all(&bundle);
        bundle_with(directory.path(), edits).to_str().unwrap().to_owned()
    };
    let api_service = [(
        "  webhookdefinitions:",
        "  apiservicedefinitions: {owned: [{name: a, group: a.example.com, version: v1, kind: A}]}\n  webhookdefinitions:",
    )];
    let used = directory.path().join("used");
    fs::create_dir(&used).unwrap();
    fs::write(used.join("file"), "").unwrap();
    let used = used.to_str().unwrap();
    let used_catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/catalog");
    for (arguments, expected) in [
        (
            vec![BUNDLE.to_owned(), "--install-mode".into(), "MultiNamespace=a,b".into()],
            "does not support install mode `MultiNamespace`, only `OwnNamespace`, `SingleNamespace`, `AllNamespaces`",
        ),
        (vec![path(&api_service)], "owns an APIService"),
        (vec![BUNDLE.into(), "--output".into(), "helm".into()], "--output-dir"),
        (
            vec![
                BUNDLE.into(),
                "--output".into(),
                "helm".into(),
                "--output-dir".into(),
                "x".into(),
                "-n".into(),
                "a".into(),
            ],
            "the namespace is the release's",
        ),
        (
            vec![
                BUNDLE.into(),
                "--output".into(),
                "helm".into(),
                "--output-dir".into(),
                "x".into(),
                "--certificates".into(),
                "self-signed".into(),
            ],
            "must not contain keys",
        ),
        (
            vec![BUNDLE.into(), "--output".into(), "kustomize".into(), "--output-dir".into(), used.into()],
            "is not empty",
        ),
        (vec!["none".into()], "expected a bundle directory"),
        (vec![used_catalog.into()], "is a file-based catalog, expected a bundle"),
        (vec![BUNDLE.into(), "--namespace".into(), "A".into()], "invalid namespace `A`: "),
        (vec![BUNDLE.into(), "--namespace".into(), "a\nb: c".into()], "invalid namespace `a\\nb: c`: "),
        (
            vec![BUNDLE.into(), "--install-mode".into(), "SingleNamespace=../a".into()],
            "invalid namespace `../a`: ",
        ),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = run(&arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty());
    }
}
