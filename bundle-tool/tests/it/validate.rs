//! `bundle-tool validate` over folders, layouts and archives: one verdict, whatever form a bundle has.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

fn json(assert: &assert_cmd::assert::Assert) -> Value {
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

/// A copy of the sound bundle that tests may spoil.
fn bundle(dir: &Path) -> PathBuf {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle");
    let bundle = dir.join("bundle");
    for folder in ["manifests", "metadata"] {
        fs::create_dir_all(bundle.join(folder)).unwrap();
        for entry in fs::read_dir(fixture.join(folder)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), bundle.join(folder).join(entry.file_name())).unwrap();
        }
    }
    bundle
}

#[test]
fn a_bundle_is_judged_alike_in_a_folder_a_layout_and_an_archive() {
    let dir = tempfile::tempdir().unwrap();
    let folder = bundle(dir.path());
    fs::write(folder.join("manifests/job.yaml"), "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n")
        .unwrap();
    let folder = folder.to_str().unwrap();
    let layout = format!("oci:{}", dir.path().join("layout").display());
    let archive = format!("oci-archive:{}", dir.path().join("bundle.tar").display());
    for target in [&layout, &archive] {
        run(&["push", "bundle", folder, "registry.example.com/gizmo:v1", "--to", target]).success();
    }
    let answer = json(&run(&["validate", "--output", "json", folder, &layout, &archive]).code(1));
    let bundles = answer["bundles"].as_array().unwrap();
    assert_eq!(bundles.len(), 3);
    for bundle in bundles {
        assert_eq!(bundle["name"], "gizmo-operator.v1.2.0");
        assert_eq!(bundle["package"], "gizmo-operator");
        assert_eq!(bundle["passed"], false);
        assert_eq!(bundle["findings"][0]["rule"], "unsupported-kind");
        assert_eq!(bundle["findings"], bundles[0]["findings"]);
    }
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_judged() {
    let dir = tempfile::tempdir().unwrap();
    let folder = bundle(dir.path());
    let missing = dir.path().join("nowhere");
    let assert =
        run(&["validate", "--output", "json", missing.to_str().unwrap(), folder.to_str().unwrap()]).code(2);
    let answer = json(&assert);
    assert_eq!(answer["bundles"].as_array().unwrap().len(), 1);
    assert_eq!(answer["bundles"][0]["passed"], true);
    let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(message.contains("nowhere"), "{message}");
}

#[test]
fn suites_are_asked_by_name_and_rules_are_left_out_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let folder = bundle(dir.path());
    let annotations = folder.join("metadata/annotations.yaml");
    let text = fs::read_to_string(&annotations).unwrap().replace(": stable", ": alpha");
    fs::write(&annotations, text).unwrap();
    let folder = folder.to_str().unwrap();
    let found = |args: &[&str]| {
        let answer = json(&run(&[&["validate", "--output", "json", folder], args].concat()).success());
        answer["bundles"][0]["findings"].as_array().unwrap().len()
    };
    assert_eq!(found(&[]), 0);
    assert_eq!(found(&["--suite", "categories,good-practices"]), 1);
    assert_eq!(found(&["--suite", "all", "--allow", "channel-unconventional"]), 0);
    run(&["validate", folder, "--allow", "no-such-rule"]).code(2);
    run(&["validate", folder, "--suite", "no-such-suite"]).code(2);
}
