//! `catalog list`, `catalog size` and `catalog convert-template`, and catalogs for several versions of OpenShift.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::push::{BUNDLE, Registry, failure, run, stdout};

const IMAGE: &str = "quay.io/example/gizmo-bundle:v1.2.0";

/// Writes a catalog with one bundle.
fn catalog(directory: &Path) {
    assert!(run(directory, &["catalog", "add", "catalog", BUNDLE, "--image", IMAGE]).status.success());
}

#[test]
fn packages_channels_bundles_and_images_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    catalog(directory);
    let list = |what: &str, more: &[&str]| {
        stdout(&run(directory, &[&["catalog", "list", what, "catalog"], more].concat()))
    };
    let shown =
        ["packages", "channels", "bundles", "images"].map(|what| format!("{what}\n{}", list(what, &[])));
    insta::assert_snapshot!("catalog-list", shown.join("\n"));
    for what in ["packages", "channels", "bundles", "images"] {
        let json: Value = serde_json::from_str(&list(what, &["gizmo-operator", "--output", "json"])).unwrap();
        assert_eq!(json[what].as_array().unwrap().len(), if what == "images" { 2 } else { 1 }, "{json}");
    }
    let error = failure(&run(directory, &["catalog", "list", "bundles", "catalog", "gismo-operator"]));
    assert!(
        error.contains("package `gismo-operator` is not in the catalog") && error.contains("gizmo-operator`"),
        "{error}"
    );
}

#[test]
fn sizes_of_images_come_from_registries() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let image = format!("{}/gizmo-bundle:v1.2.0", registry.address);
    stdout(&run(directory, &["push", "bundle", BUNDLE, &image, "--plain-http"]));
    assert!(run(directory, &["catalog", "add", "catalog", BUNDLE, "--image", &image]).status.success());
    let list = ["catalog", "list", "images", "catalog", "--sizes", "--plain-http", "--timeout", "2s"];
    let output = run(directory, &list);
    // The image of the operator is nowhere.
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout).unwrap();
    let sizes: Vec<&str> = shown.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(sizes.len(), 4, "{shown}");
    assert!(sizes[1].ends_with(" KiB") && sizes[2] == "unknown" && sizes[1] == sizes[3], "{shown}");
    assert!(shown.contains("  all images of known size, with shared layers once"), "{shown}");
    drop(registry);
    let shown = String::from_utf8(run(directory, &list).stdout).unwrap();
    let total = shown.lines().last().unwrap_or_default();
    assert!(total.starts_with("unknown  all images"), "{shown}");
}

#[test]
fn size_shows_what_makes_a_catalog_large() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::create_dir(directory.join("catalog")).unwrap();
    let blobs = |level: &[&str]| {
        let render = ["render", BUNDLE, "--image", IMAGE];
        stdout(&run(directory, &[&render[..], level].concat()))
    };
    let write = |text: String| fs::write(directory.join("catalog/bundle.json"), text).unwrap();
    let size = || -> Value {
        let output = run(directory, &["catalog", "size", "catalog", "--output", "json"]);
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    write(blobs(&["--migrate-level", "none"]));
    let before = size();
    write(blobs(&["--migrate"]));
    let after = size();
    assert!(before["migrated"].as_u64() < before["bytes"].as_u64(), "{before}");
    // What it announces is what a migration does.
    assert_eq!(before["migrated"], after["bytes"]);
    assert_eq!(after["migrated"], after["bytes"]);
    let text = stdout(&run(directory, &["catalog", "size", "catalog"]));
    assert!(
        text.contains("property olm.csv.metadata") && text.contains("`catalog migrate` saves nothing"),
        "{text}"
    );
}

#[test]
fn template_of_a_catalog_builds_it_again() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    catalog(directory);
    let convert = |kind: &str| {
        stdout(&run(directory, &["catalog", "convert-template", kind, "catalog", "--output", "yaml"]))
    };
    let template = convert("basic");
    assert!(template.contains(&format!("- image: {IMAGE}\n  schema: olm.bundle\n")), "{template}");
    fs::write(directory.join("template.yaml"), &template).unwrap();
    let bundle = format!("{IMAGE}={BUNDLE}");
    let build = ["catalog", "template", "template.yaml", "--output", "yaml", "--bundle", &bundle];
    let printed = stdout(&run(directory, &build));
    let rendered = |text: &str| {
        fs::create_dir_all(directory.join("again")).unwrap();
        fs::write(directory.join("again/catalog.yaml"), text).unwrap();
        stdout(&run(directory, &["render", "again"]))
    };
    assert_eq!(rendered(&printed), stdout(&run(directory, &["render", "catalog"])));
    assert!(convert("substitutes").contains("substitutions: []"));
    let error =
        failure(&run(directory, &["catalog", "convert-template", "basic", "catalog", "--package", "x"]));
    assert!(error.contains("package `x` is not in the catalog"), "{error}");
}

#[test]
fn one_template_becomes_catalogs_for_several_versions_of_openshift() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    catalog(directory);
    let template =
        stdout(&run(directory, &["catalog", "convert-template", "basic", "catalog", "--output", "yaml"]));
    fs::write(directory.join("template.yaml"), template).unwrap();
    let bundle = format!("{IMAGE}={BUNDLE}");
    let build = ["catalog", "template", "template.yaml", "--output", "yaml", "--bundle", &bundle];
    let to = ["--openshift", "4.16..4.17", "--output-dir", "catalogs"];
    assert_eq!(stdout(&run(directory, &[&build[..], &to].concat())), "");
    for (version, expected, other) in [
        ("v4.16", "olm.bundle.object", "olm.csv.metadata"),
        ("v4.17", "olm.csv.metadata", "olm.bundle.object"),
    ] {
        let path = directory.join("catalogs").join(version).join("gizmo-operator/catalog.yaml");
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(expected) && !text.contains(other), "{version}");
        let catalog = format!("catalogs/{version}");
        assert!(run(directory, &["catalog", "validate", &catalog]).status.success());
    }
}

#[test]
fn icon_and_description_of_a_package_are_set() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::write(directory.join("icon.svg"), "<svg/>").unwrap();
    fs::write(directory.join("README.md"), "# Gizmo\n").unwrap();
    let add = ["catalog", "add", "catalog", BUNDLE, "--image", IMAGE];
    let described = ["--icon", "icon.svg", "--description", "README.md"];
    assert!(run(directory, &[&add[..], &described].concat()).status.success());
    let text = fs::read_to_string(directory.join("catalog/gizmo-operator/catalog.yaml")).unwrap();
    assert!(text.contains("mediatype: image/svg+xml") && text.contains("# Gizmo"), "{text:.500}");
    let error = failure(&run(directory, &[&add[..], &["--icon", "README.md"]].concat()));
    assert!(error.contains("README.md is not an icon: expected SVG, PNG, JPEG, GIF or WebP"), "{error}");
}
