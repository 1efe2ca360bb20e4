//! `inspect` as a user runs it.

use std::fs;
use std::path::Path;

use crate::push::{BUNDLE, Registry, run, stdout};

/// Copies the fixture's bundle.
fn bundle(directory: &Path) {
    for part in ["manifests", "metadata"] {
        fs::create_dir_all(directory.join("bundle").join(part)).unwrap();
        for entry in fs::read_dir(Path::new(BUNDLE).join(part)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, directory.join("bundle").join(part).join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn push(directory: &Path) {
    bundle(directory);
    let name = "quay.io/example/gizmo-bundle:v1";
    stdout(&run(directory, &["push", "bundle", "bundle", name, "--to", "oci:layout"]));
}

#[test]
fn inspect_prints_a_bundle_image_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    push(directory.path());
    let inspect = |output: &str| {
        stdout(&run(directory.path(), &["inspect", "oci:layout", "--output", output, "--files"]))
    };
    for output in ["text", "tree", "json"] {
        insta::assert_snapshot!(format!("inspect-{output}"), inspect(output));
    }
}

#[test]
fn differences_from_a_directory_are_problems() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    push(directory);
    let arguments = ["inspect", "oci:layout", "--against", "bundle"];
    assert!(!stdout(&run(directory, &arguments)).contains("Problems"));

    let annotations = directory.join("bundle/metadata/annotations.yaml");
    let text = fs::read_to_string(&annotations).unwrap();
    fs::write(&annotations, text.replace("channels.v1: ", "channels.v1: other,")).unwrap();
    fs::write(directory.join("bundle/manifests/extra.yaml"), "kind: ConfigMap\n").unwrap();
    let output = run(directory, &arguments);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let problems = text.split_once("Problems:\n").unwrap().1;
    insta::assert_snapshot!("inspect-problems", problems);
}

#[test]
fn labels_are_compared_with_annotations() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    bundle(directory);
    let label = "operators.operatorframework.io.bundle.package.v1=other";
    let files = ["bundle/manifests=/manifests", "bundle/metadata=/metadata"];
    let push =
        ["push", "image", "example.com/x:v1", files[0], files[1], "--label", label, "--to", "oci:layout"];
    stdout(&run(directory, &push));
    let output = run(directory, &["inspect", "oci:layout"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("package.v1` is `other`, but metadata/annotations.yaml has `gizmo-operator`"),
        "{text}"
    );
    assert!(text.contains("channels.v1` is missing"), "{text}");
}

#[test]
fn inspect_describes_an_image_in_a_registry() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    push(directory);
    let registry = Registry::start(directory);
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    stdout(&run(directory, &["copy", "oci:layout", &name, "--plain-http"]));
    let text = stdout(&run(directory, &["inspect", &name, "--plain-http"]));
    assert!(text.contains("OLM bundle image") && !text.contains("Referrers"), "{text}");
}
