//! `mirror` as a user runs it: a catalog with the images of its operator, from one registry into another.

use std::fs;
use std::path::Path;

use crate::push::{BUNDLE, Registry, failure, run, stdout};

/// A registry with a catalog, its bundle and the image of its operator. The names of quay.io and registry.example.com lead to it.
fn published(directory: &Path) -> Registry {
    let registry = Registry::start(directory);
    let address = &registry.address;
    let registries = ["quay.io", "registry.example.com"].map(|prefix| {
        format!("[[registry]]\nprefix = \"{prefix}\"\nlocation = \"{address}\"\ninsecure = true\n")
    });
    fs::create_dir_all(directory.join(".config/containers")).unwrap();
    fs::write(directory.join(".config/containers/registries.conf"), registries.concat()).unwrap();
    fs::write(directory.join("manager"), "a program").unwrap();
    let image = format!("{address}/gizmo-operator:1.2.0");
    stdout(&run(directory, &["push", "image", &image, "manager=/manager", "--plain-http"]));
    let bundle = format!("{address}/example/gizmo-bundle:v1.2.0");
    stdout(&run(directory, &["push", "bundle", BUNDLE, &bundle, "--plain-http"]));
    let published = "quay.io/example/gizmo-bundle:v1.2.0";
    assert!(run(directory, &["catalog", "add", "catalog", BUNDLE, "--image", published]).status.success());
    let catalog = format!("{address}/example/catalog:latest");
    stdout(&run(directory, &["push", "catalog", "catalog", &catalog, "--data-only", "--plain-http"]));
    registry
}

#[test]
fn a_catalog_is_mirrored_checked_and_described() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    let target = Registry::start(two.path());
    let to = format!("{}/m", target.address);
    let catalog = "quay.io/example/catalog:latest";
    let check = ["mirror", catalog, "--to", &to, "--check", "--plain-http"];
    let output = run(directory, &check);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap().replace(&target.address, "TARGET");
    insta::assert_snapshot!("mirror-check", shown);

    let mirror = ["mirror", catalog, "--to", &to, "--manifests-dir", "sets", "--plain-http"];
    for _ in 0..2 {
        let shown = stdout(&run(directory, &mirror)).replace(&target.address, "TARGET");
        insta::assert_snapshot!("mirror-copied", shown);
    }
    for file in ["mapping.txt", "image-digest-mirror-set.yaml", "image-tag-mirror-set.yaml"] {
        let text = fs::read_to_string(directory.join("sets").join(file)).unwrap();
        insta::assert_snapshot!(format!("mirror-{file}"), text.replace(&target.address, "TARGET"));
    }
    // What is mirrored is complete without the first registry.
    assert_eq!(source.stop(), Some(0));
    let mirrored = format!("{to}/example/catalog:latest");
    let check = ["mirror", &mirrored, "--to", &to, "--check", "--plain-http"];
    let output = run(directory, &check);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("/m/m/example/catalog:latest") && shown.ends_with("1 part missing\n"), "{shown}");
}

#[test]
fn a_layout_carries_one_package() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let _registry = published(directory);
    let catalog = "quay.io/example/catalog:latest";
    let filter = ["--package", "gizmo-operator", "--min-version", "1.0.0"];
    let mut arguments = vec!["mirror", catalog, "--to", "oci:carried"];
    arguments.extend(filter);
    let output = run(directory, &arguments);
    assert!(output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("quay.io/example/catalog:latest itself is not mirrored"), "{error}");
    arguments.push("--check");
    let output = run(directory, &arguments);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "2 images checked, 0 parts missing\n");
    stdout(&run(directory, &["validate", "oci:carried:quay.io/example/gizmo-bundle:v1.2.0"]));

    for (option, value, expected) in [
        ("--package", "other", "no bundle of the package `other` was found"),
        ("--min-version", "2.0.0", "no bundle matches"),
        ("--channel", "other", "no bundle matches"),
    ] {
        let error = failure(&run(directory, &["mirror", catalog, "--to", "oci:x", option, value]));
        assert!(error.contains(expected), "{error}");
    }
    let error = failure(&run(directory, &["mirror", catalog, "--to", "here"]));
    assert!(error.contains("expected a registry"), "{error}");
}
