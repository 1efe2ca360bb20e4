//! What a REF of `bundle-tool validate` may be: a repository of bundles, a catalog, an archive, standard input, and formats
//! that OLM no longer reads.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;

use crate::project::stderr;
use crate::support::{copy, fixture};

fn run(args: &[&str]) -> Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

fn json(assert: &Assert) -> Value {
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

#[test]
fn catalog_repository_stands_for_all_of_its_bundles() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a/1.0.0", "a/1.1.0", "b/2.0.0"] {
        copy(&fixture("bundle"), &dir.path().join("operators").join(name));
    }
    fs::write(dir.path().join("operators/a/ci.yaml"), "reviewers: []\n").unwrap();
    fs::create_dir_all(dir.path().join("operators/old/1.0.0")).unwrap();
    fs::write(dir.path().join("operators/old/old.package.yaml"), "packageName: old\n").unwrap();
    let assert = run(&["validate", "-o", "json", dir.path().to_str().unwrap()]).code(2);
    let answer = json(&assert);
    let paths: Vec<_> = answer["bundles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bundle| bundle["path"].as_str().unwrap().rsplit_once("operators/").unwrap().1)
        .collect();
    assert_eq!(paths, ["a/1.0.0", "a/1.1.0", "b/2.0.0"]);
    let message = stderr(&assert);
    assert!(message.contains("is in the package manifests format, which OLM no longer reads"), "{message}");
    assert!(message.contains("`operator-sdk pkgman-to-bundle "), "{message}");
    let operator = dir.path().join("operators/a");
    let text = run(&["validate", operator.to_str().unwrap()]).success();
    assert_eq!(text.get_output().stdout, b"2 bundles, all passed: 0 errors, 0 warnings\n");
}

#[test]
fn catalog_repository_has_a_catalog_for_each_version() {
    let dir = tempfile::tempdir().unwrap();
    copy(&fixture("bundle"), &dir.path().join("operators/a/1.0.0"));
    for version in ["v4.19", "v4.20"] {
        copy(&fixture("catalog"), &dir.path().join("catalogs").join(version));
    }
    fs::write(dir.path().join("catalogs/v4.20/broken.yaml"), "schema: olm.package\n").unwrap();
    for (path, bundles) in [("", 1), ("catalogs", 0)] {
        let path = dir.path().join(path);
        let answer = json(&run(&["validate", "-o", "json", path.to_str().unwrap()]).code(1));
        assert_eq!(answer["bundles"].as_array().unwrap().len(), bundles);
        let catalogs = answer["catalogs"].as_array().unwrap();
        let passed: Vec<_> = catalogs.iter().map(|catalog| &catalog["passed"]).collect();
        assert_eq!(passed, [true, false], "{catalogs:?}");
    }
}

#[test]
fn catalogs_are_validated_as_catalogs() {
    let catalog = fixture("catalog");
    let catalog = catalog.to_str().unwrap();
    let as_catalog = json(&run(&["catalog", "validate", "-o", "json", catalog]));
    let answer = json(&run(&["validate", "-o", "json", catalog]));
    assert_eq!(answer["catalogs"], as_catalog["catalogs"]);
    assert_eq!(answer["bundles"], serde_json::json!([]));
    let mut blobs = Vec::new();
    collect(&fixture("catalog"), &mut blobs);
    let output = Command::cargo_bin("bundle-tool")
        .unwrap()
        .args(["validate", "-o", "json", "-"])
        .write_stdin(blobs)
        .assert();
    assert_eq!(json(&output)["catalogs"][0]["packages"], as_catalog["catalogs"][0]["packages"]);
}

fn collect(directory: &Path, blobs: &mut Vec<u8>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, blobs);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "json") {
            blobs.extend(b"---\n");
            blobs.extend(fs::read(path).unwrap());
        }
    }
}

#[test]
fn archive_needs_no_prefix_and_may_come_from_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("bundle.tar");
    let bundle = fixture("bundle");
    let target = format!("oci-archive:{}", archive.display());
    run(&["push", "bundle", bundle.to_str().unwrap(), "registry.example.com/gizmo:v1", "--to", &target])
        .success();
    let from_file = json(&run(&["validate", "-o", "json", archive.to_str().unwrap()]).success());
    assert_eq!(from_file["bundles"][0]["name"], "gizmo-operator.v1.2.0");
    let output = Command::cargo_bin("bundle-tool")
        .unwrap()
        .args(["validate", "-o", "json", "-"])
        .write_stdin(fs::read(&archive).unwrap())
        .assert()
        .success();
    assert_eq!(json(&output)["bundles"][0]["path"], "-");
    assert_eq!(json(&output)["bundles"][0]["name"], "gizmo-operator.v1.2.0");
    let cut = fs::read(&archive).unwrap()[..2000].to_vec();
    let output =
        Command::cargo_bin("bundle-tool").unwrap().args(["validate", "-"]).write_stdin(cut).assert().code(2);
    let message = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(
        message.starts_with("error: failed to read -: standard input is not a valid OCI archive"),
        "{message}"
    );
    let output = Command::cargo_bin("bundle-tool").unwrap().args(["validate", "-"]).assert().code(2);
    let message = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert_eq!(message, "error: standard input is empty: expected an image archive or a catalog\n");
}

#[test]
fn sqlite_index_error_names_opm_migrate() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("index.db"), b"SQLite format 3\0").unwrap();
    for path in [dir.path().to_owned(), dir.path().join("index.db")] {
        let message = stderr(&run(&["validate", path.to_str().unwrap()]).code(2));
        assert!(message.contains("index.db is an SQLite index, which OLM no longer reads"), "{message}");
        assert!(message.contains("`opm migrate "), "{message}");
    }
}
