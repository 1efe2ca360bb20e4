//! `bundle-tool fix` and `validate --fix`: what they change, what they leave, and that a second run changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

use crate::project::{stderr, stdout};
use crate::support::copy_bundle;

const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";

fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

/// A copy of the valid bundle in which a string of a file is replaced.
fn spoiled(dir: &Path, edits: &[(&str, &str, &str)]) -> PathBuf {
    let bundle = copy_bundle(dir.join("bundle"));
    for (file, old, new) in edits {
        let path = bundle.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{file} does not contain {old}");
        fs::write(path, text.replacen(old, new, 1)).unwrap();
    }
    bundle
}

/// The lines of a file that differ from those of the valid bundle.
fn changed_lines(bundle: &Path, file: &str) -> Vec<String> {
    let valid = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle").join(file);
    let valid = fs::read_to_string(valid).unwrap();
    let text = fs::read_to_string(bundle.join(file)).unwrap();
    let known: Vec<&str> = valid.lines().collect();
    text.lines().filter(|line| !known.contains(line)).map(str::to_owned).collect()
}

#[test]
fn findings_are_fixed_in_place_and_comments_stay() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = spoiled(
        dir.path(),
        &[
            (
                CSV,
                "  minKubeVersion: 1.27.0\n",
                "  # The oldest supported.\n  minKubeVersion: 1.27 # see the docs\n",
            ),
            (CSV, "  maturity: stable\n", "  maturty: stable\n"),
            (CSV, "{type: AllNamespaces, supported: true}", "{type: AllNamespaces, supported: \"true\"}"),
            (CSV, "capabilities: Basic Install", "capabilities: basic install"),
            (ANNOTATIONS, "channels.v1: stable", "channels.v1: stable, beta,"),
            (ANNOTATIONS, "  operators.operatorframework.io.bundle.metadata.v1: metadata/\n", ""),
        ],
    );
    let path = bundle.to_str().unwrap();
    let assert = run(&["fix", path, "--suite", "capabilities"]).success();
    let summary = stderr(&assert).replace(path, "BUNDLE");
    insta::assert_snapshot!("fix-summary", summary);
    assert_eq!(
        changed_lines(&bundle, CSV),
        ["  # The oldest supported.", "  minKubeVersion: \"1.27.0\" # see the docs", "  maturty: stable"]
    );
    assert_eq!(
        changed_lines(&bundle, ANNOTATIONS),
        ["  operators.operatorframework.io.bundle.channels.v1: stable,beta"]
    );
    run(&["validate", path, "--suite", "capabilities"]).success();

    // Again: nothing is left to fix but what has to be reviewed.
    let before = fs::read(bundle.join(CSV)).unwrap();
    let again = stderr(&run(&["fix", path, "--suite", "capabilities"]).success());
    assert_eq!(again.replace(path, "BUNDLE"), "BUNDLE: fixed 0 findings; --unsafe-fixes can fix 1 more\n");
    assert_eq!(fs::read(bundle.join(CSV)).unwrap(), before);
    run(&["fix", path, "--unsafe-fixes"]).success();
    assert!(fs::read_to_string(bundle.join(CSV)).unwrap().contains("  maturity: stable\n"));
}

#[test]
fn fix_that_cannot_be_applied_is_not_offered() {
    let dir = tempfile::tempdir().unwrap();
    // It would be renamed to a field that exists.
    let edits = [(CSV, "  provider:\n", "  provder: {name: Gadgets}\n  provider:\n")];
    let bundle = spoiled(dir.path(), &edits);
    let path = bundle.to_str().unwrap();
    for options in [&["--check"][..], &["--check", "--unsafe-fixes"]] {
        let found = stderr(&run(&[&["fix", path], options].concat()).success());
        assert_eq!(found.replace(path, "BUNDLE"), "BUNDLE: would fix 0 findings\n", "{options:?}");
    }
}

#[test]
fn a_diff_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = spoiled(dir.path(), &[(CSV, "minKubeVersion: 1.27.0", "minKubeVersion: v1.27.0")]);
    let path = bundle.to_str().unwrap();
    let before = fs::read(bundle.join(CSV)).unwrap();
    let assert = run(&["fix", path, "--check"]).code(1);
    insta::assert_snapshot!("fix-diff", stdout(&assert).replace(path, "BUNDLE"));
    assert_eq!(fs::read(bundle.join(CSV)).unwrap(), before);
    run(&["fix", path]).success();
    run(&["fix", path, "--check"]).success().stdout("");
}

#[test]
fn validate_fixes_and_prints_what_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let edits =
        [(CSV, "minKubeVersion: 1.27.0", "minKubeVersion: v1.27.0"), (CSV, "version: 1.2.0", "version: one")];
    let bundle = spoiled(dir.path(), &edits);
    let path = bundle.to_str().unwrap();
    let assert = run(&["validate", path, "--fix", "--output", "json"]).code(1);
    let answer: Value = serde_json::from_str(&stdout(&assert)).unwrap();
    let rules: Vec<_> = answer["bundles"][0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["csv-version-invalid"]);
    run(&["validate", path, "--unsafe-fixes"]).code(2);
}

#[test]
fn what_is_not_a_bundle_cannot_be_fixed() {
    let error = stderr(&run(&["fix", "oci:nowhere"]).code(2));
    assert!(error.contains("cannot fix oci:nowhere: an image cannot be changed"), "{error}");
    let error = stderr(&run(&["fix", "/dev/null"]).code(2));
    assert!(error.contains("expected a directory"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = stderr(&run(&["fix", empty.path().to_str().unwrap()]).code(2));
    assert!(error.contains("expected a bundle, with files in manifests/ and metadata/"), "{error}");
}

#[test]
fn a_link_that_leads_out_of_the_bundle_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = [(CSV, "apiVersion: operators.coreos.com/v1alpha1", "apiVersion: operators.coreos.com/v1")];
    let bundle = spoiled(dir.path(), &wrong);
    let outside = dir.path().join("outside.yaml");
    fs::rename(bundle.join(CSV), &outside).unwrap();
    std::os::unix::fs::symlink("../../outside.yaml", bundle.join(CSV)).unwrap();
    let before = fs::read(&outside).unwrap();
    for arguments in [&["fix"][..], &["validate", "--fix"]] {
        let arguments = [arguments, &[bundle.to_str().unwrap()]].concat();
        let error = stderr(&run(&arguments).code(2));
        assert!(error.contains("the symbolic link points outside the directory"), "{error}");
        assert_eq!(fs::read(&outside).unwrap(), before);
    }
    // A link within the bundle stays one.
    fs::rename(&outside, bundle.join("csv.yaml")).unwrap();
    fs::remove_file(bundle.join(CSV)).unwrap();
    std::os::unix::fs::symlink("../csv.yaml", bundle.join(CSV)).unwrap();
    run(&["fix", bundle.to_str().unwrap()]).success();
    assert!(bundle.join(CSV).is_symlink());
    assert!(fs::read_to_string(bundle.join("csv.yaml")).unwrap().contains("v1alpha1\n"));
}

#[test]
fn a_key_that_is_merged_into_another_map_stays() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = spoiled(dir.path(), &[]);
    let merged = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: merged\n  labels: &labels\n    a: b\n  \
                  annotations:\n    <<: *labels\n    a: c\n";
    fs::write(bundle.join("manifests/merged.yaml"), merged).unwrap();
    let found = stdout(&run(&["validate", bundle.to_str().unwrap()]));
    assert!(found.contains("yaml-duplicate-key"), "{found}");
    let done = stderr(&run(&["fix", "--unsafe-fixes", bundle.to_str().unwrap()]).success());
    assert!(done.contains("fixed 0 findings\n"), "{done}");
    assert_eq!(fs::read_to_string(bundle.join("manifests/merged.yaml")).unwrap(), merged);
}

#[test]
fn labels_of_a_dockerfile_follow_the_annotations() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = spoiled(dir.path(), &[]);
    let path = bundle.to_str().unwrap();
    let good = "# Built by hand\nFROM scratch\nLABEL operators.operatorframework.io.bundle.channels.v1=stable  \\\n      \
                other=\"a b\"\nCOPY bundle/manifests /manifests/\n";
    let bad = good.replace("=stable", "='alpha,beta'");
    for file in [dir.path().join("bundle.Dockerfile"), bundle.join("Dockerfile")] {
        fs::write(&file, &bad).unwrap();
        let shown = stdout(&run(&["fix", path, "--check"]).code(1));
        assert!(shown.contains("Dockerfile\n") && shown.contains("+LABEL"), "{shown}");
        assert_eq!(fs::read_to_string(&file).unwrap(), bad);
        let summary = stderr(&run(&["fix", path]).success());
        assert!(summary.contains("dockerfile-label-mismatch: set the label `operators."), "{summary}");
        assert_eq!(fs::read_to_string(&file).unwrap(), good);
        assert!(stderr(&run(&["fix", path]).success()).ends_with("fixed 0 findings\n"));
        fs::remove_file(file).unwrap();
    }
    // The Dockerfile of another directory.
    let file = dir.path().join("bundle.Dockerfile");
    fs::write(&file, bad.replace("COPY bundle/", "COPY other/")).unwrap();
    assert!(stderr(&run(&["fix", path]).success()).ends_with("fixed 0 findings\n"));
    // One that is not beside the bundle is not written.
    let away = dir.path().join("away");
    fs::create_dir(&away).unwrap();
    fs::write(away.join("file"), &bad).unwrap();
    fs::remove_file(&file).unwrap();
    let project = dir.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::rename(&bundle, project.join("bundle")).unwrap();
    std::os::unix::fs::symlink(away.join("file"), project.join("bundle.Dockerfile")).unwrap();
    let error = stderr(&run(&["fix", project.join("bundle").to_str().unwrap()]).code(2));
    assert!(error.contains("the symbolic link points outside the directory"), "{error}");
    assert_eq!(fs::read_to_string(away.join("file")).unwrap(), bad);
}

#[test]
fn a_bundle_is_fixed_as_a_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let comment = format!("# {}\n", "x".repeat(300_000));
    let bundle = spoiled(
        dir.path(),
        &[
            (CSV, "minKubeVersion: 1.27.0", "minKubeVersion: v1.27.0"),
            (ANNOTATIONS, "channels.v1: stable", "channels.v1: stable,"),
            (ANNOTATIONS, "annotations:\n", &format!("{comment}annotations:\n")),
        ],
    );
    let before = [CSV, ANNOTATIONS].map(|file| fs::read(bundle.join(file)).unwrap());
    // A full disk, for the second file.
    let limited =
        format!("ulimit -f 256; exec {} fix {}", env!("CARGO_BIN_EXE_bundle-tool"), bundle.display());
    let output = std::process::Command::new("sh").args(["-c", &limited]).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert_eq!([CSV, ANNOTATIONS].map(|file| fs::read(bundle.join(file)).unwrap()), before);
    run(&["fix", bundle.to_str().unwrap()]).success();
    for (file, before) in [CSV, ANNOTATIONS].iter().zip(before) {
        assert_ne!(fs::read(bundle.join(file)).unwrap(), before, "{file}");
    }
}

#[test]
fn fixes_that_cause_errors_are_not_written() {
    let dir = tempfile::tempdir().unwrap();
    // With the name that is likely meant, the CSV replaces itself.
    let edit = (CSV, "  version: 1.2.0\n", "  version: 1.2.0\n  replacs: gizmo-operator.v1.2.0\n");
    let bundle = spoiled(dir.path(), &[edit]);
    let path = bundle.to_str().unwrap();
    let before = fs::read(bundle.join(CSV)).unwrap();
    for more in [&[][..], &["--check"]] {
        let arguments = [&["fix", path, "--unsafe-fixes"], more].concat();
        let error = stderr(&run(&arguments).code(2)).replace(path, "BUNDLE");
        assert_eq!(
            error,
            "error: cannot fix BUNDLE: the fixes would increase the number of errors from 0 to 1; nothing was written\n"
        );
        assert_eq!(fs::read(bundle.join(CSV)).unwrap(), before);
    }
}

#[test]
fn errors_that_were_hidden_prevent_no_fix() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    let manifest = bundle.join("manifests/settings.yaml");
    let path = bundle.to_str().unwrap();
    // Two errors of the metadata are found once the tab is gone.
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: A_\n\tlabels: {\"a b\": c}\n";
    fs::write(&manifest, text).unwrap();
    run(&["fix", path]).success();
    assert_eq!(fs::read_to_string(&manifest).unwrap(), text.replace('\t', "  "));
    run(&["validate", path]).code(1);
    // Each of these hides the next one.
    let data: String = (0..60).map(|number| format!("  k{number}: {number}\n")).collect();
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{data}");
    fs::write(&manifest, text).unwrap();
    let said = stderr(&run(&["fix", path]).success());
    assert!(said.ends_with("fixed 60 findings in 1 file\n"), "{said}");
    run(&["validate", path]).success();
}

#[test]
fn a_bundle_that_cannot_be_fixed_is_reported_with_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    let output = run(&["validate", "nowhere", bundle.to_str().unwrap(), "--fix", "-o", "json"]).code(2);
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["bundles"].as_array().unwrap().len(), 1);
    assert_eq!(report["unreadable"][0]["path"], "nowhere");
}
