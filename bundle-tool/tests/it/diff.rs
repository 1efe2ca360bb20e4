//! `bundle-tool diff`: what people and programs read of an upgrade.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

/// Two versions of the fixture bundle: the new one tightens the CRD, drops an install mode and asks for more.
fn versions(directory: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle");
    for version in ["old", "new"] {
        for part in ["manifests", "metadata"] {
            fs::create_dir_all(directory.join(version).join(part)).unwrap();
            for entry in fs::read_dir(fixture.join(part)).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), directory.join(version).join(part).join(entry.file_name())).unwrap();
            }
        }
    }
    let crd = directory.join("new/manifests/gizmos.gadgets.example.com.crd.yaml");
    replace(&crd, &[("minimum: 1, maximum: 5", "minimum: 1, maximum: 3")]);
    let csv = directory.join("new/manifests/gizmo-operator.clusterserviceversion.yaml");
    replace(
        &csv,
        &[
            ("{type: AllNamespaces, supported: true}", "{type: AllNamespaces, supported: false}"),
            ("minKubeVersion: 1.27.0", "minKubeVersion: 1.28.0"),
        ],
    );
}

fn replace(path: &Path, changes: &[(&str, &str)]) {
    let mut text = fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{} contains no {from}", path.display());
        text = text.replacen(from, to, 1);
    }
    fs::write(path, text).unwrap();
}

fn diff(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    command.current_dir(directory).arg("diff").args(arguments).args(["old", "new"]);
    command
}

#[test]
fn text_markdown_and_json() {
    let scratch = tempfile::tempdir().unwrap();
    versions(scratch.path());
    for format in ["text", "markdown", "json"] {
        let output = diff(scratch.path(), &["--output", format]).assert().code(1).get_output().clone();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots/diff");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format, String::from_utf8(output.stdout).unwrap()));
    }
}

#[test]
fn a_bundle_does_not_differ_from_itself() {
    let scratch = tempfile::tempdir().unwrap();
    versions(scratch.path());
    fs::remove_dir_all(scratch.path().join("new")).unwrap();
    fs::rename(scratch.path().join("old"), scratch.path().join("new")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    command.current_dir(scratch.path()).args(["diff", "--strict", "new", "new"]).assert().code(0);
}

#[test]
fn plain_manifests_are_compared_as_well() {
    let scratch = tempfile::tempdir().unwrap();
    versions(scratch.path());
    for version in ["old", "new"] {
        fs::rename(scratch.path().join(version).join("manifests"), scratch.path().join("crds")).unwrap();
        fs::remove_dir_all(scratch.path().join(version)).unwrap();
        fs::rename(scratch.path().join("crds"), scratch.path().join(version)).unwrap();
    }
    diff(scratch.path(), &["--strict"]).assert().code(1);
}

#[test]
fn what_is_no_bundle_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    for version in ["old", "new"] {
        fs::create_dir(scratch.path().join(version)).unwrap();
    }
    let output = diff(scratch.path(), &[]).assert().code(2).get_output().clone();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("old contains neither a ClusterServiceVersion nor"), "{message}");
}
