//! `--output json`: each document is an object with its version, also for no results, with names in camel case, and with `null`
//! where a value is absent.

use std::fs;

use serde_json::Value;

use crate::support::{copy_bundle, run};

const CATALOG: &str = include_str!("../fixtures/catalog/valid.yaml");
const PACKAGE: &str = "schema: olm.package\nname: gizmo\n";

/// The names of maps that come from files are theirs.
const FOREIGN: [&str; 1] = ["labels"];

/// Checks a value of a document, and those in it.
fn check(command: &str, value: &Value) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                assert!(name.chars().all(|char| char.is_ascii_alphanumeric()), "{command}: {name}");
                assert_ne!(value, "", "{command}: {name}");
                if !FOREIGN.contains(&name.as_str()) {
                    check(command, value);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| check(command, value)),
        _ => {}
    }
}

/// Runs command lines, each in one line with its exit status, and returns what they print.
fn documents(directory: &std::path::Path, commands: &[(&str, i32)]) -> String {
    let mut all = String::new();
    for (command, status) in commands {
        let arguments: Vec<&str> = command.split(' ').chain(["--output", "json"]).collect();
        let output = run(directory, &arguments);
        assert_eq!(output.status, Some(*status), "{command}: {}", output.stderr);
        let document: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {}", output.stdout));
        assert_eq!(document["version"], 1, "{command}");
        check(command, &document);
        all.extend(["# ", command, "\n", &output.stdout]);
    }
    all
}

#[test]
fn documents_about_catalogs_have_one_form() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path();
    fs::write(directory.join("catalog.yaml"), CATALOG).unwrap();
    fs::write(directory.join("package.yaml"), PACKAGE).unwrap();
    fs::create_dir(directory.join("empty")).unwrap();
    insta::assert_snapshot!(
        "json-catalog",
        documents(
            directory,
            &[
                ("catalog explain-upgrade catalog.yaml --package gizmo --installed 1.0.0", 0),
                ("catalog explain-upgrade catalog.yaml --package gizmo --installed 0.1.0", 1),
                ("catalog graph catalog.yaml --channel fast", 0),
                ("catalog graph empty", 0),
                ("catalog diff catalog.yaml package.yaml", 1),
                ("catalog diff catalog.yaml catalog.yaml", 0),
                ("catalog list packages package.yaml", 0),
                ("catalog list channels catalog.yaml", 0),
                ("catalog list bundles catalog.yaml", 0),
                ("catalog list images catalog.yaml", 0),
                ("catalog list packages empty", 0),
                ("catalog list channels empty", 0),
                ("catalog list bundles empty", 0),
                ("catalog list images empty", 0),
                ("catalog size empty", 0),
            ],
        )
    );
}

#[test]
fn documents_about_bundles_and_rules_have_one_form() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path();
    let bundle = copy_bundle(directory.join("bundle"));
    let csv = bundle.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    let text = fs::read_to_string(&csv).unwrap();
    fs::write(&csv, text.replace("minKubeVersion: 1.27.0", "minKubeVersion: v1.27.0")).unwrap();
    insta::assert_snapshot!(
        "json-bundle",
        documents(
            directory,
            &[
                ("fix bundle --check", 1),
                ("fix bundle", 0),
                ("fix bundle", 0),
                ("validate --list-optional", 0),
                ("rules --suite categories", 0),
                ("explain category-unknown", 0),
                ("support bundle --kube-version 1.33", 0),
            ],
        )
    );
    let output = run(directory, &["validate", "--list-optional", "--output", "sarif"]);
    assert_eq!(output.status, Some(2));
    assert_eq!(output.stderr, "error: --list-optional prints only `text` and `json`\n");
}

/// The directories that were fixed before an error are in the document.
#[test]
fn what_was_fixed_before_an_error_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    let output = run(dir.path(), &["fix", "bundle", "missing", "--output", "json"]);
    assert_eq!(output.status, Some(2));
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["directories"].as_array().unwrap().len(), 1);
    assert!(output.stderr.contains("missing"), "{}", output.stderr);
}
