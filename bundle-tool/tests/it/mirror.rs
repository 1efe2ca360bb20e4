//! `mirror` as a user runs it: a catalog with the images of its operator, from one registry into another.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use crate::annotations::manifest;
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

/// The files that `--manifests-dir` writes.
const MANIFESTS: [&str; 5] = [
    "mapping.txt",
    "image-digest-mirror-set.yaml",
    "image-tag-mirror-set.yaml",
    "catalog-source-catalog.yaml",
    "cluster-catalog-catalog.yaml",
];

/// Compares files in `sets` with their snapshots.
fn check_manifests(directory: &Path, target: &Registry) {
    for name in MANIFESTS {
        let text = fs::read_to_string(directory.join("sets").join(name)).unwrap();
        insta::assert_snapshot!(format!("mirror-{name}"), text.replace(&target.address, "TARGET"));
    }
}

#[test]
fn catalog_is_mirrored_checked_and_described() {
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
    check_manifests(directory, &target);
    // What is mirrored is complete without the first registry.
    assert_eq!(source.stop(), Some(0));
    let mirrored = format!("{to}/example/catalog:latest");
    let check = ["mirror", &mirrored, "--to", &to, "--check", "--plain-http"];
    let output = run(directory, &check);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), shown.as_str()), (Some(0), "3 images checked, 0 parts missing\n"));
}

/// Asks a registry to delete something.
fn delete(address: &str, path: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("DELETE {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
}

/// Removes a blob or a manifest from a directory with `blobs`.
fn remove(directory: &Path, digest: &str) {
    fs::remove_file(directory.join("blobs").join(digest.replace(':', "/"))).unwrap();
}

#[test]
fn check_lists_missing_images_of_each_platform() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    for name in ["amd64", "arm64", "s390x"] {
        fs::write(directory.join(name), name).unwrap();
    }
    let platforms = "linux/amd64=amd64,linux/arm64=arm64,linux/s390x=s390x";
    let image = format!("{}/gizmo-operator:1.2.0", source.address);
    let push = ["push", "image", &image, "--platform", platforms, "--entrypoint", "/manager"];
    let index = stdout(&run(directory, &[&push[..], &["--plain-http"]].concat()));
    // To look up the parts.
    stdout(&run(directory, &[&push[..], &["--to", "oci:parts"]].concat()));
    let parts = directory.join("parts");
    let index = manifest(&parts, index.split_once('@').unwrap().1);
    let digest = |value: &Value| value["digest"].as_str().unwrap().to_owned();
    let images: Vec<String> = index["manifests"].as_array().unwrap().iter().map(digest).collect();
    let arm64 = manifest(&parts, &images[1]);
    let (layer, config) = (digest(&arm64["layers"][0]), digest(&arm64["config"]));

    let target = Registry::start(two.path());
    let registry = format!("{}/m", target.address);
    for (to, stored) in
        [(registry.as_str(), two.path().join("registry")), ("oci:carried", directory.join("carried"))]
    {
        let mirror = ["mirror", BUNDLE, "--to", to, "--plain-http"];
        stdout(&run(directory, &mirror));
        let check = || {
            let output = run(directory, &[&mirror[..], &["--check"]].concat());
            let shown = String::from_utf8(output.stdout).unwrap();
            let lines = shown.lines().filter_map(|line| line.split_once("): ")?.1.split_once(" at "));
            let mut found: Vec<String> = lines.map(|(part, _)| part.to_owned()).collect();
            found.sort();
            assert_eq!(
                output.status.code(),
                Some(i32::from(!found.is_empty())),
                "{shown}{}",
                String::from_utf8_lossy(&output.stderr)
            );
            found
        };
        assert_eq!(check(), [""; 0], "{to}");
        remove(&stored, &layer);
        remove(&stored, &config);
        let mut expected = [&layer, &config].map(|digest| format!("the blob {digest} for linux/arm64"));
        expected.sort();
        assert_eq!(check(), expected, "{to}");
        if to == registry {
            delete(&target.address, &format!("/v2/m/gizmo-operator/manifests/{}", images[2]));
        } else {
            remove(&stored, &images[2]);
        }
        let expected = [&expected[..], &["the image for linux/s390x".to_owned()]].concat();
        assert_eq!(check(), expected, "{to}");
    }
}

#[test]
fn layout_carries_one_package() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let _registry = published(directory);
    let catalog = "quay.io/example/catalog:latest";
    let filter = ["--package", "gizmo-operator", "--min-version", "1.0.0"];
    let mut arguments = vec!["mirror", catalog, "--to", "oci:carried"];
    arguments.extend(filter);
    let output = run(directory, &arguments);
    assert!(output.status.success());
    arguments.push("--check");
    let output = run(directory, &arguments);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "3 images checked, 0 parts missing\n");
    stdout(&run(directory, &["validate", "oci:carried:quay.io/example/gizmo-bundle:v1.2.0"]));

    for (option, value, expected) in [
        ("--package", "other", "package `other` is not in the catalog"),
        ("--min-version", "2.0.0", "no bundle matches"),
        ("--channel", "other", "no bundle matches"),
    ] {
        let error = failure(&run(directory, &["mirror", catalog, "--to", "oci:x", option, value]));
        assert!(error.contains(expected), "{error}");
    }
    let error = failure(&run(directory, &["mirror", catalog, "--to", "here"]));
    assert!(error.contains("expected a registry"), "{error}");
}

#[test]
fn part_of_a_catalog_is_mirrored_with_its_own_catalog() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    // The catalog has another package, whose image is nowhere, and one with the same image.
    for (package, image) in [("other", "missing:v1"), ("twin", "gizmo-bundle:v1.2.0")] {
        let blobs = format!(
            "---\nschema: olm.package\nname: {package}\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: {package}\nname: \
             stable\nentries: [{{name: {package}.v1}}]\n---\nschema: olm.bundle\npackage: {package}\nname: {package}.v1\nimage: \
             quay.io/example/{image}\nproperties: [{{type: olm.package, value: {{packageName: {package}, version: 1.0.0}}}}]\n"
        );
        fs::create_dir(directory.join("catalog").join(package)).unwrap();
        fs::write(directory.join("catalog").join(package).join("catalog.yaml"), blobs).unwrap();
    }
    let catalog = format!("{}/example/catalog:latest", source.address);
    stdout(&run(directory, &["push", "catalog", "catalog", &catalog, "--data-only", "--plain-http"]));

    let target = Registry::start(two.path());
    let to = format!("{}/m", target.address);
    let name = "quay.io/example/catalog:latest";
    let mirror = [
        "mirror",
        name,
        "--package",
        "gizmo-operator",
        "--to",
        &to,
        "--manifests-dir",
        "sets",
        "--plain-http",
    ];
    let copied = stdout(&run(directory, &mirror));
    assert_eq!(copied.lines().count(), 3, "{copied}");
    assert!(!copied.contains("missing"), "{copied}");
    let mapping = fs::read_to_string(directory.join("sets/mapping.txt")).unwrap();
    assert!(mapping.lines().count() == 2 && !mapping.contains("example/catalog"), "{mapping}");
    let catalog_source = fs::read_to_string(directory.join("sets/catalog-source-catalog.yaml")).unwrap();
    let image = format!("image: {to}/example/catalog:latest\n");
    assert!(catalog_source.contains(&image), "{catalog_source}");
    let rendered =
        stdout(&run(directory, &["render", &format!("{to}/example/catalog:latest"), "--plain-http"]));
    assert!(rendered.contains("gizmo-operator") && !rendered.contains("other"), "{rendered}");
    // Another run copies nothing. Of another part, whose images are all there, the catalog is missing.
    assert_eq!(stdout(&run(directory, &mirror)), copied);
    let mut check =
        vec!["mirror", name, "--to", &to, "--check", "--plain-http", "--package", "gizmo-operator"];
    assert_eq!(stdout(&run(directory, &check)), "3 images checked, 0 parts missing\n");
    check.extend(["--package", "twin"]);
    let output = run(directory, &check);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    let missing: Vec<&str> = shown.lines().filter(|line| line.starts_with("missing: ")).collect();
    assert!(matches!(missing[..], [line] if line.contains("/m/example/catalog:latest")), "{shown}");
}

#[test]
fn layout_is_pushed_as_a_whole_without_the_first_registry() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    let catalog = "quay.io/example/catalog:latest";
    let early = ["mirror", catalog, "--to", "oci:carried", "--manifests-dir", "sets"];
    let error = failure(&run(directory, &early));
    assert!(error.contains("`bundle-tool mirror oci:carried --to REGISTRY --manifests-dir DIR`"), "{error}");
    assert!(!directory.join("carried").exists());
    stdout(&run(directory, &early[..4]));
    assert_eq!(source.stop(), Some(0));

    let target = Registry::start(two.path());
    let to = format!("{}/m", target.address);
    let push = ["mirror", "oci:carried", "--to", &to, "--manifests-dir", "sets", "--plain-http"];
    let shown = stdout(&run(directory, &push)).replace(&target.address, "TARGET");
    insta::assert_snapshot!("mirror-copied", shown);
    check_manifests(directory, &target);
    let check = ["mirror", "oci:carried", "--to", &to, "--check", "--plain-http"];
    assert_eq!(stdout(&run(directory, &check)), "3 images checked, 0 parts missing\n");
    let error = failure(&run(directory, &[&check[..], &["--package", "gizmo-operator"]].concat()));
    assert!(error.contains("is mirrored as a whole"), "{error}");
    // One image of the layout is a bundle like any other.
    let bundle = "oci:carried:quay.io/example/gizmo-bundle:v1.2.0";
    let error = failure(&run(directory, &["mirror", bundle, "--to", &to, "--plain-http"]));
    assert!(error.contains("gizmo-operator:1.2.0"), "{error}");
}
