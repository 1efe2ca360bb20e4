//! `scorecard`: the six stock tests, operator-sdk's configuration and output formats.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::utf8;

fn scorecard(bundle: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .arg("scorecard")
        .arg(bundle)
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", bundle)
        .output()
        .unwrap()
}

/// A copy of the valid bundle, with replacements in its CSV.
fn bundle(directory: &Path, edits: &[(&str, &str)]) -> PathBuf {
    let source = Path::new("tests/fixtures/bundle");
    for file in [
        "manifests/gizmo-operator.clusterserviceversion.yaml",
        "manifests/gizmos.gadgets.example.com.crd.yaml",
        "metadata/annotations.yaml",
    ] {
        let mut content = std::fs::read_to_string(source.join(file)).unwrap();
        for (old, new) in edits {
            content = content.replace(old, new);
        }
        std::fs::create_dir_all(directory.join(file).parent().unwrap()).unwrap();
        std::fs::write(directory.join(file), content).unwrap();
    }
    directory.to_owned()
}

/// The state of each of the six tests, by the last part of its name.
fn states(output: &Output) -> Vec<(String, String)> {
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = list["items"].as_array().unwrap().iter().map(|item| &item["status"]["results"][0]);
    results
        .map(|one| (one["name"].as_str().unwrap().to_owned(), one["state"].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn stock_tests_can_pass_and_fail() {
    const DESCRIBED: (&str, &str) = (
        "      description: A gizmo of some size\n",
        "      description: A gizmo of some size\n      resources: [{kind: Pod, version: v1, name: a}]\n      \
         specDescriptors: [{path: size, displayName: Size}]\n",
    );
    let directory = tempfile::tempdir().unwrap();
    let good = scorecard(&bundle(directory.path(), &[DESCRIBED]), &["-o", "json"]);
    assert!(good.status.success(), "{}", utf8(&good.stdout));
    assert!(states(&good).iter().all(|(_, state)| state == "pass"), "{:?}", states(&good));
    for (edits, name, state) in [
        (&[DESCRIBED, ("[{\"apiVersion\"", "{[{\"apiVersion\"")][..], "basic-check-spec", "fail"),
        (&[DESCRIBED, ("[{\"apiVersion\"", "{[{\"apiVersion\"")], "olm-spec-descriptors", "error"),
        (&[DESCRIBED, ("strategy: deployment", "strategy: magic")], "olm-bundle-validation", "fail"),
        (
            &[DESCRIBED, ("{\"size\": 3}", "{\"size\": 3, \"flavor9\": 1}")],
            "olm-crds-have-validation",
            "fail",
        ),
        (&[], "olm-crds-have-resources", "fail"),
        (&[], "olm-spec-descriptors", "fail"),
        (
            &[DESCRIBED, ("\"spec\": {\"size\": 3}", "\"spec\": {\"size\": 3}, \"status\": {\"nodes\": []}")],
            "olm-status-descriptors",
            "fail",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let output = scorecard(&bundle(directory.path(), edits), &["-o", "json"]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        let states = states(&output);
        assert!(states.contains(&(name.to_owned(), state.to_owned())), "{name}: {states:?}");
    }
}

#[test]
fn configuration_of_the_bundle_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = bundle(directory.path(), &[]);
    std::fs::create_dir_all(path.join("tests/scorecard")).unwrap();
    std::fs::write(
        path.join("tests/scorecard/config.yaml"),
        "apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: config}\nstages:\n\
         - parallel: true\n  tests:\n  \
         - image: quay.io/operator-framework/scorecard-test:v1.42.0\n    entrypoint: [scorecard-test, olm-crds-have-resources]\n    \
         labels: {suite: olm, test: resources}\n  \
         - image: quay.io/example/own-tests:v1\n    entrypoint: [own, first]\n    labels: {suite: own}\n",
    )
    .unwrap();
    let all = scorecard(&path, &[]);
    assert_eq!(all.status.code(), Some(1));
    insta::assert_snapshot!("scorecard-text", utf8(&all.stdout));
    let xml = scorecard(&path, &["-o", "xunit"]);
    insta::assert_snapshot!("scorecard-xunit", utf8(&xml.stdout));
    let listed = scorecard(&path, &["--list", "-l", "suite=own"]);
    assert!(listed.status.success() && !utf8(&listed.stdout).contains("Results"), "{}", utf8(&listed.stdout));
    let none = scorecard(&path, &["-l", "suite=none"]);
    assert_eq!(utf8(&none.stdout), "0 tests selected\n");
    std::fs::write(path.join("tests/scorecard/config.yaml"), "kind: Other\n").unwrap();
    let invalid = scorecard(&path, &[]);
    assert_eq!(invalid.status.code(), Some(2));
    assert!(utf8(&invalid.stderr).contains("expected kind `Configuration`"), "{}", utf8(&invalid.stderr));
}
