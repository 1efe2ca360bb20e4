//! What users meet first: wrong references, fields of the wrong type, and files that say why.

use std::fs;

use crate::support::{bundle_and_catalog, copy_bundle, run};

/// Returns the path of the CSV in a bundle.
fn csv_of(bundle: &std::path::Path) -> std::path::PathBuf {
    let files = fs::read_dir(bundle.join("manifests")).unwrap();
    let mut paths = files.map(|entry| entry.unwrap().path());
    paths.find(|path| path.display().to_string().contains("clusterserviceversion")).unwrap()
}

#[test]
fn icon_that_is_a_string_is_a_list_of_maps_in_the_help() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(directory.path().join("bundle"));
    let path = csv_of(&bundle);
    let csv =
        fs::read_to_string(&path).unwrap().replacen("\n  icon:\n", "\n  icon: some text\n  other:\n", 1);
    fs::write(&path, csv).unwrap();
    let found = run(directory.path(), &["validate", "bundle"]);
    assert_eq!(found.status, Some(1), "{}", found.stderr);
    assert!(found.stdout.contains("expected a list, found a string"), "{}", found.stdout);
    assert!(found.stdout.contains("write spec.icon as a list of maps"), "{}", found.stdout);
}

#[test]
fn root_of_a_project_is_read_as_its_bundle() {
    let directory = tempfile::tempdir().unwrap();
    copy_bundle(directory.path().join("bundle"));
    fs::write(directory.path().join("PROJECT"), "version: \"3\"\n").unwrap();
    let found = run(directory.path(), &["validate", "."]);
    assert_eq!(found.status, Some(0), "{}{}", found.stdout, found.stderr);
    assert_eq!(found.stderr, "note: . is the root of a project: reading its bundle ./bundle\n");
}

#[test]
fn template_names_the_place_of_a_bundle_without_an_image() {
    let directory = tempfile::tempdir().unwrap();
    let template = "schema: olm.template.basic\nentries:\n- schema: olm.package\n  name: gizmo\n  defaultChannel: stable\n\
                    - schema: olm.bundle\n  name: gizmo.v1.0.0\n";
    fs::write(directory.path().join("t.yaml"), template).unwrap();
    let failed = run(directory.path(), &["catalog", "template", "t.yaml"]);
    assert_eq!(failed.status, Some(2));
    assert_eq!(failed.stderr, "error: t.yaml:6:3: bundle without an image: missing required field `image`\n");
    fs::write(directory.path().join("s.yaml"), "schema: olm.semver\nstable:\n  bundles:\n  - image: \"\"\n")
        .unwrap();
    let failed = run(directory.path(), &["catalog", "template", "s.yaml"]);
    assert_eq!(failed.status, Some(2));
    assert!(failed.stderr.contains("a bundle of the template has an empty `image`"), "{}", failed.stderr);
}

#[test]
fn misspelled_field_of_a_scorecard_configuration_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(directory.path().join("bundle"));
    fs::create_dir_all(bundle.join("tests/scorecard")).unwrap();
    let config = "apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: config}\n\
                  stages:\n- test:\n  - image: quay.io/example/test:v1\n    entrypoint: [scorecard-test]\n    labels: {suite: basic}\n";
    fs::write(bundle.join("tests/scorecard/config.yaml"), config).unwrap();
    let failed = run(directory.path(), &["scorecard", "bundle"]);
    assert_eq!(failed.status, Some(2), "{}", failed.stdout);
    assert!(failed.stderr.contains("unknown field `test`: did you mean `tests`?"), "{}", failed.stderr);
}

#[test]
fn submission_without_reviewers_writes_a_file_that_the_pipeline_accepts() {
    let directory = tempfile::tempdir().unwrap();
    copy_bundle(directory.path().join("bundle"));
    fs::create_dir_all(directory.path().join("hub/operators")).unwrap();
    let written = run(directory.path(), &["generate", "submission", "hub", "--bundle", "bundle"]);
    assert_eq!(written.status, Some(0), "{}", written.stderr);
    let operators = fs::read_dir(directory.path().join("hub/operators")).unwrap();
    let operator = operators.map(|entry| entry.unwrap().path()).next().unwrap();
    let ci = fs::read_to_string(operator.join("ci.yaml")).unwrap();
    assert!(!ci.contains("reviewers"), "{ci}");
    let found = run(directory.path(), &["validate", "hub", "--profile", "community", "--no-config"]);
    assert!(!found.stdout.contains("reviewers"), "{}", found.stdout);
}

#[test]
fn error_of_an_added_bundle_points_into_the_bundle() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(directory.path().join("bundle"));
    let path = csv_of(&bundle);
    let csv = fs::read_to_string(&path).unwrap();
    let version = csv.lines().rfind(|line| line.starts_with("  version: ")).unwrap();
    fs::write(&path, csv.replace(version, "  version: v1.1.1-57")).unwrap();
    let failed =
        run(directory.path(), &["catalog", "add", "catalog", "bundle", "--image", "quay.io/example/a:v1"]);
    assert_ne!(failed.status, Some(0), "{}", failed.stdout);
    let said = failed.printed();
    assert!(said.contains("bundle/manifests/"), "{said}");
    assert!(!said.contains("catalog/"), "{said}");
    assert!(!directory.path().join("catalog").exists(), "nothing is written");
}

#[test]
fn invalid_result_of_a_template_names_the_entry_of_the_template() {
    let directory = tempfile::tempdir().unwrap();
    copy_bundle(directory.path().join("bundle"));
    let template = "schema: olm.template.basic\nentries:\n- schema: olm.package\n  name: gizmo-operator\n  \
                    defaultChannel: fast\n- schema: olm.channel\n  package: gizmo-operator\n  name: fast\n  entries:\n  \
                    - name: gizmo-operator.v9.9.9\n- schema: olm.bundle\n  image: quay.io/example/gizmo-bundle:v9.9.9\n";
    fs::write(directory.path().join("t.yaml"), template).unwrap();
    let bundle = "quay.io/example/gizmo-bundle:v9.9.9=bundle";
    let failed = run(directory.path(), &["catalog", "template", "t.yaml", "--bundle", bundle]);
    let said = failed.printed();
    assert_eq!(failed.status, Some(1), "{said}");
    assert!(said.contains("t.yaml:10:"), "{said}");
    assert!(said.contains("quay.io/example/gizmo-bundle:v9.9.9"), "{said}");
}

#[test]
fn catalog_image_without_its_label_is_named() {
    let directory = tempfile::tempdir().unwrap();
    bundle_and_catalog(directory.path());
    let file = "catalog/gizmo-operator/catalog.yaml=/configs/gizmo-operator/catalog.yaml";
    let push = ["push", "image", "example.com/c:v1", file, "--platform", "linux/amd64", "--to", "oci:image"];
    let pushed = run(directory.path(), &push);
    assert_eq!(pushed.status, Some(0), "{}", pushed.stderr);
    for command in [&["catalog", "validate"][..], &["catalog", "graph"], &["render"]] {
        let failed = run(directory.path(), &[command, &["oci:image"]].concat());
        let said = failed.printed();
        assert_eq!(failed.status, Some(2), "{command:?}: {said}");
        assert!(said.contains("operators.operatorframework.io.index.configs.v1"), "{command:?}: {said}");
    }
}

#[test]
fn likely_causes_are_named_by_every_command_that_reads_yaml() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(directory.path().join("bundle"));
    let conflict = "a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> other\n";
    fs::write(bundle.join("manifests/settings.yaml"), conflict).unwrap();
    for (name, text) in [("in/a.yaml", conflict), ("catalog/a.yaml", conflict)] {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for arguments in [
        &["validate", "bundle"][..],
        &["catalog", "validate", "catalog"],
        &["render", "catalog"],
        &["generate", "bundle", "--input-dir", "in", "--package", "a", "--version", "1.0.0"],
        &["push", "bundle", "bundle", "example.com/a:v1", "--to", "oci:new", "--no-validate"],
        &["diff", "in", "in"],
    ] {
        let failed = run(directory.path(), arguments);
        let said = failed.printed();
        assert_ne!(failed.status, Some(0), "{arguments:?}: {said}");
        assert!(said.contains(":2:1"), "{arguments:?}: {said}");
        assert!(said.contains("unresolved merge conflict"), "{arguments:?}: {said}");
        assert!(said.contains("resolve the conflict"), "{arguments:?}: {said}");
    }
}

#[test]
fn temporary_paths_are_in_no_message() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    copy_bundle(directory.path().join("bundle"));
    fs::create_dir_all(directory.path().join("project")).unwrap();
    fs::write(directory.path().join("project/Makefile"), "VERSION ?= 1.2.3\n").unwrap();
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: lake}\nspec: {selector: {}, template: {}}\n\
                      ---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\n";
    fs::create_dir_all(directory.path().join("project/config/default")).unwrap();
    fs::write(directory.path().join("project/config/default/a.yaml"), deployment).unwrap();
    fs::write(directory.path().join("broken.tar"), "no archive").unwrap();
    for arguments in [
        &["init", "--from", "project"][..],
        &["render", "oci-archive:broken.tar"],
        &["validate", "oci-archive:broken.tar"],
        &["copy", "oci-archive:broken.tar", "oci:new"],
        &["catalog", "add", "catalog", "bundle", "--image", "x y"],
        &["render", "bundle", "--image", "x y"],
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
            .current_dir(directory.path())
            .env("TMPDIR", temporary.path())
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!said.is_empty(), "{arguments:?}");
        let paths = [temporary.path(), directory.path()].map(|path| path.display().to_string());
        assert!(!paths.iter().any(|path| said.contains(path)), "{arguments:?}: {said}");
        assert!(!said.contains(".tmp"), "{arguments:?}: {said}");
    }
}
