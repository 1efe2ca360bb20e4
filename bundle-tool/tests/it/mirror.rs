//! `mirror` as a user runs it: a catalog with the images of its operator, from one registry into another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::annotations::manifest;
use crate::push::{BUNDLE, Registry, failure, run, stdout, tool};
use crate::sign::keys;
use crate::support::send_signal;

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
const MANIFESTS: [&str; 6] = [
    "mapping.txt",
    "registries.conf",
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
fn what_is_missing_of_each_platform_is_listed_and_copied_again() {
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
        // The tag still leads to the index.
        let listed = stdout(&run(directory, &[&mirror[..], &["--dry-run"]].concat()));
        assert!(!listed.contains("of which 0 B"), "{to}: {listed}");
        stdout(&run(directory, &mirror));
        assert_eq!(check(), [""; 0], "{to}");
    }
}

#[test]
fn layout_carries_one_package() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let _registry = published(directory);
    let catalog = "quay.io/example/catalog:latest";
    let mut arguments = vec!["mirror", catalog, "--to", "oci:carried"];
    arguments.extend(["--keep", "gizmo-operator@>=1.0.0"]);
    let output = run(directory, &arguments);
    assert!(output.status.success());
    arguments.push("--check");
    let output = run(directory, &arguments);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "3 images checked, 0 parts missing\n");
    stdout(&run(directory, &["validate", "oci:carried:quay.io/example/gizmo-bundle:v1.2.0"]));

    for (keep, expected) in [
        ("other", "package `other` is not in the catalog"),
        ("gizmo-operator@>=2.0.0", "no bundle of package `gizmo-operator` is in the range"),
        ("gizmo-operator/other", "channel `other` is not in package `gizmo-operator`: its channels are"),
    ] {
        let error = failure(&run(directory, &["mirror", catalog, "--to", "oci:x", "--keep", keep]));
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
    let mirror =
        ["mirror", name, "--keep", "gizmo-operator", "--to", &to, "--manifests-dir", "sets", "--plain-http"];
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
    let mut check = vec!["mirror", name, "--to", &to, "--check", "--plain-http", "--keep", "gizmo-operator"];
    assert_eq!(stdout(&run(directory, &check)), "3 images checked, 0 parts missing\n");
    check.extend(["--keep", "twin"]);
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
    assert!(error.contains("--manifests-dir requires --manifests-registry REGISTRY"), "{error}");
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
    let error = failure(&run(directory, &[&check[..], &["--keep", "gizmo-operator"]].concat()));
    assert!(error.contains("is mirrored as a whole"), "{error}");
    // One image of the layout is a bundle like any other.
    let bundle = "oci:carried:quay.io/example/gizmo-bundle:v1.2.0";
    let output = run(directory, &["mirror", bundle, "--to", &to, "--plain-http", "--skip", "quay.io/x/y"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("quay.io/example/gizmo-bundle:v1.2.0="), "{shown}");
}

/// Adds a package whose bundle is `image` to the catalog, and pushes it.
fn publish_package(directory: &Path, source: &Registry, package: &str, image: &str) {
    add_package(directory, package, image);
    push_catalog(directory, source);
}

/// Pushes the catalog.
fn push_catalog(directory: &Path, source: &Registry) {
    let catalog = format!("{}/example/catalog:latest", source.address);
    stdout(&run(directory, &["push", "catalog", "catalog", &catalog, "--data-only", "--plain-http"]));
}

/// Adds a package whose bundle is `image` to the catalog.
fn add_package(directory: &Path, package: &str, image: &str) {
    let blobs = format!(
        "---\nschema: olm.package\nname: {package}\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: {package}\nname: \
         stable\nentries: [{{name: {package}.v1}}]\n---\nschema: olm.bundle\npackage: {package}\nname: {package}.v1\nimage: \
         quay.io/example/{image}\nproperties: [{{type: olm.package, value: {{packageName: {package}, version: 1.0.0}}}}]\n"
    );
    fs::create_dir(directory.join("catalog").join(package)).unwrap();
    fs::write(directory.join("catalog").join(package).join("catalog.yaml"), blobs).unwrap();
}

/// Pushes an image with a file of `size` bytes that do not compress.
fn push_image(directory: &Path, source: &Registry, name: &str, size: usize) {
    let mut state: u32 =
        name.bytes().fold(2_166_136_261, |state, byte| (state ^ u32::from(byte)).wrapping_mul(16_777_619));
    let bytes: Vec<u8> = (0..size)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()[3]
        })
        .collect();
    fs::write(directory.join("random"), bytes).unwrap();
    let image = format!("{}/{name}", source.address);
    stdout(&run(directory, &["push", "image", &image, "random=/random", "--plain-http"]));
}

/// Returns the digests of the blobs of a layout's archive with their sizes.
fn blobs_of(archive: &Path) -> BTreeMap<String, u64> {
    let mut archive = tar::Archive::new(fs::File::open(archive).unwrap());
    let entries = archive.entries().unwrap().map(|entry| entry.unwrap());
    let entries = entries.filter(|entry| entry.header().entry_type().is_file());
    entries.map(|entry| (entry.path().unwrap().display().to_string(), entry.size())).collect()
}

#[test]
fn archives_carry_images_and_then_only_what_is_new() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    push_image(directory, &source, "example/app:v1", 300_000);
    publish_package(directory, &source, "app", "app:v1");
    let catalog = "quay.io/example/catalog:latest";
    let first = ["mirror", catalog, "--to", "oci-archive:first.tar"];
    let described = ["--manifests-dir", "sets", "--manifests-registry", "TARGET.example.com/m"];
    let described = described.map(str::to_lowercase);
    let described: Vec<&str> = described.iter().map(String::as_str).collect();
    stdout(&run(directory, &[&first[..], &described].concat()));
    let mapping = fs::read_to_string(directory.join("sets/mapping.txt")).unwrap();
    assert!(mapping.contains("quay.io/example/app:v1=target.example.com/m/example/app:v1\n"), "{mapping}");
    assert!(!directory.join("first.tar.partial").exists());
    let before = blobs_of(&directory.join("first.tar"));
    let large = before.iter().find(|(_, size)| **size > 250_000).unwrap().0.clone();

    // The second archive has the new image, and of the others only the manifests.
    push_image(directory, &source, "example/new:v1", 200_000);
    publish_package(directory, &source, "new", "new:v1");
    let second = ["mirror", catalog, "--since", "oci-archive:first.tar", "--to", "oci-archive:second.tar"];
    stdout(&run(directory, &second));
    let after = blobs_of(&directory.join("second.tar"));
    assert!(!after.contains_key(&large) && after.values().any(|size| *size > 150_000), "{after:?}");
    assert_eq!(source.stop(), Some(0));

    let target = Registry::start(two.path());
    let to = format!("{}/m", target.address);
    let push = |archive: &str| run(directory, &["mirror", archive, "--to", &to, "--plain-http"]);
    // What the first archive has is missing without it.
    let output = push("oci-archive:second.tar");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("is missing"), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("quay.io/example/new:v1="));
    assert_eq!(stdout(&push("oci-archive:first.tar")).lines().count(), 4);
    assert_eq!(stdout(&push("oci-archive:second.tar")).lines().count(), 5);
    let check = ["mirror", "oci-archive:second.tar", "--to", &to, "--check", "--plain-http"];
    assert_eq!(stdout(&run(directory, &check)), "5 images checked, 0 parts missing\n");
}

#[test]
fn unavailable_image_is_reported_and_the_others_are_mirrored() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    publish_package(directory, &source, "other", "missing:v1");
    let target = Registry::start(two.path());
    let to = format!("{}/m", target.address);
    let mirror = ["mirror", "quay.io/example/catalog:latest", "--to", &to, "--plain-http"];
    let output = run(directory, &[&mirror[..], &["--manifests-dir", "sets"]].concat());
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.starts_with("error: failed to mirror quay.io/example/missing:v1 (bundle other.v1) to "),
        "{error}"
    );
    assert!(error.ends_with("error: 1 image could not be mirrored\n"), "{error}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 3);
    assert!(directory.join("sets/mapping.txt").exists());
    for skip in ["quay.io/example/missing", "quay.io/example/missing:v1"] {
        assert_eq!(stdout(&run(directory, &[&mirror[..], &["--skip", skip]].concat())).lines().count(), 3);
    }
    let output = run(directory, &[&mirror[..], &["--strict"]].concat());
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn signatures_and_other_referrers_are_mirrored() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    keys(directory);
    let bundle = format!("{}/example/gizmo-bundle:v1.2.0", source.address);
    let push = ["push", "bundle", BUNDLE, &bundle, "--plain-http", "--sign", "cosign.key", "--provenance"];
    assert!(run(directory, &push).status.success());
    let catalog = "quay.io/example/catalog:latest";
    stdout(&run(directory, &["mirror", catalog, "--to", "oci-archive:all.tar"]));
    stdout(&run(directory, &["mirror", catalog, "--to", "oci-archive:none.tar", "--no-referrers"]));
    assert!(blobs_of(&directory.join("all.tar")).len() > blobs_of(&directory.join("none.tar")).len());
    let listed = |to: &str, registry: &str| {
        let target = format!("{to}/example/gizmo-bundle:v1.2.0");
        stdout(&run(directory, &["mirror", registry, "--to", to, "--plain-http"]));
        stdout(&run(directory, &["verify", &target, "--key", "cosign.pub", "--plain-http"]));
        let shown: Value = serde_json::from_str(&stdout(&run(
            directory,
            &["inspect", &target, "--output", "json", "--plain-http"],
        )))
        .unwrap();
        shown["referrers"].as_array().map_or(0, Vec::len)
    };
    let target = Registry::start(two.path());
    let direct = listed(&format!("{}/direct", target.address), catalog);
    assert_eq!(source.stop(), Some(0));
    let carried = listed(&format!("{}/carried", target.address), "oci-archive:all.tar");
    assert!(direct > 0 && direct == carried, "{direct} {carried}");
}

#[test]
fn check_and_dry_run_list_what_a_copy_would_transfer() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    keys(directory);
    let bundle = format!("{}/example/gizmo-bundle:v1.2.0", source.address);
    let push = ["push", "bundle", BUNDLE, &bundle, "--plain-http", "--sign", "cosign.key"];
    assert!(run(directory, &push).status.success());
    push_image(directory, &source, "tools/app:v1", 1000);
    let target = Registry::start(two.path());
    let registry = format!("{}/m", target.address);
    for to in [registry.as_str(), "oci:carried"] {
        let images = ["quay.io/example/gizmo-bundle:v1.2.0", "quay.io/tools/app:v1"];
        let mirror = [&["mirror", "--plain-http", "--to", to][..], &images].concat();
        stdout(&run(directory, &[&mirror[..], &["--no-referrers"]].concat()));
        let check = |code: i32| {
            let output = run(directory, &[&mirror[..], &["--check"]].concat());
            let shown = String::from_utf8(output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(code), "{to}: {shown}");
            shown
        };
        let without = run(directory, &[&mirror[..], &["--check", "--no-referrers"]].concat());
        assert_eq!(stdout(&without), "3 images checked, 0 parts missing\n");
        // Both of cosign's forms.
        let shown = check(1);
        assert_eq!(shown.matches("the signature or other referrer sha256").count(), 2, "{shown}");
        let list = || stdout(&run(directory, &[&mirror[..], &["--dry-run"]].concat()));
        assert!(!list().contains("of which 0 B"), "{}", list());
        stdout(&run(directory, &mirror));
        assert_eq!(check(0), "3 images checked, 0 parts missing\n");
        assert!(list().contains("of which 0 B are to be copied"), "{}", list());
        // The tag of the source moves.
        fs::write(directory.join("manager"), to).unwrap();
        let image = format!("{}/tools/app:v1", source.address);
        stdout(&run(directory, &["push", "image", &image, "manager=/manager", "--plain-http"]));
        let shown = check(1);
        assert!(shown.contains("the image (its name leads to sha256:"), "{shown}");
    }
    // Behind the air gap, only what the target lists is checked.
    let mirrored = format!("{registry}/example/gizmo-bundle:v1.2.0");
    assert_eq!(source.stop(), Some(0));
    let output = run(directory, &["mirror", &mirrored, "--plain-http", "--to", &registry, "--check"]);
    let note = String::from_utf8_lossy(&output.stderr);
    assert!(note.starts_with("note: could not compare 1 image with the source"), "{note}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2 images checked, 0 parts missing\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn images_of_manifests_and_charts_are_mirrored() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = published(directory);
    for name in ["web", "job", "chart"] {
        push_image(directory, &source, &format!("tools/{name}:v1"), 1000);
    }
    let manifests = "kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{image: 'quay.io/tools/web:v1'}]}}}
---
kind: CronJob
metadata: {name: job}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: 'quay.io/tools/job:v1'}]}}}}}
";
    fs::write(directory.join("rendered.yaml"), manifests).unwrap();
    fs::create_dir(directory.join("chart")).unwrap();
    let chart = |annotations: &str| {
        fs::write(directory.join("chart/Chart.yaml"), format!("name: app\n{annotations}")).unwrap();
    };
    chart("annotations:\n  artifacthub.io/images: |\n    - {name: app, image: 'quay.io/tools/chart:v1'}\n");
    let names = |shown: &str| -> Vec<String> {
        shown.lines().map(|line| line.split_once('=').unwrap().0.to_owned()).collect()
    };
    let mirror = ["mirror", "--to", "oci:out"];
    let shown = stdout(&run(directory, &[&mirror[..], &["rendered.yaml", "chart"]].concat()));
    assert_eq!(names(&shown), ["quay.io/tools/chart:v1", "quay.io/tools/job:v1", "quay.io/tools/web:v1"]);
    let mut child = tool(directory)
        .args(["mirror", "-", "--to", "oci:piped"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(manifests.as_bytes()).unwrap();
    let shown = stdout(&child.wait_with_output().unwrap());
    assert_eq!(names(&shown), ["quay.io/tools/job:v1", "quay.io/tools/web:v1"]);
    let set = "
kind: ImageSetConfiguration
apiVersion: mirror.openshift.io/v2alpha1
mirror: {helm: {local: [{name: app, path: chart}]}}
";
    fs::write(directory.join("set.yaml"), set).unwrap();
    let shown = stdout(&run(directory, &["mirror", "--imageset-config", "set.yaml", "--to", "oci:set"]));
    assert_eq!(names(&shown), ["quay.io/tools/chart:v1"]);
    chart("");
    let error = failure(&run(directory, &[&mirror[..], &["chart"]].concat()));
    assert_eq!(
        error,
        "error: failed to read chart: chart `app` does not list its images in the annotation `artifacthub.io/images`; render it with \
         `helm template NAME CHART`, and use the output as REF\n"
    );
}

#[test]
fn charts_in_registries_are_mirrored_with_the_images_that_they_list() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    push_image(directory, &source, "tools/chart:v1", 1000);
    let blobs = directory.join("chart/blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let put = |media_type: &str, bytes: &str| {
        let digest = oci_images::layout::sha256(bytes.as_bytes());
        fs::write(blobs.join(digest.digest()), bytes).unwrap();
        serde_json::json!({ "mediaType": media_type, "digest": digest.to_string(), "size": bytes.len() })
    };
    let annotations = serde_json::json!({ "artifacthub.io/images": "- {image: quay.io/tools/chart:v1}" });
    let described = serde_json::json!({ "name": "app", "annotations": annotations }).to_string();
    let config = put("application/vnd.cncf.helm.config.v1+json", &described);
    let layer = put("application/vnd.cncf.helm.chart.content.v1.tar+gzip", "a chart");
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = serde_json::json!({
        "schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer],
    });
    let mut listed = put(media_type, &manifest.to_string());
    listed["annotations"] =
        serde_json::json!({ "org.opencontainers.image.ref.name": "quay.io/charts/app:1" });
    let index = serde_json::json!({ "schemaVersion": 2, "manifests": [listed] });
    fs::write(directory.join("chart/index.json"), index.to_string()).unwrap();
    fs::write(directory.join("chart/oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    let pushed = format!("{}/charts/app:1", source.address);
    stdout(&run(directory, &["copy", "oci:chart", &pushed, "--plain-http"]));
    stdout(&run(directory, &["mirror", "quay.io/charts/app:1", "--to", "oci:carried"]));
    let target = Registry::start(two.path());
    let to = format!("{}/m", target.address);
    let mirror = ["mirror", "oci:carried", "--to", &to, "--plain-http"];
    let shown = stdout(&run(directory, &mirror)).replace(&target.address, "TARGET");
    assert_eq!(
        shown,
        "quay.io/charts/app:1=TARGET/m/charts/app:1\nquay.io/tools/chart:v1=TARGET/m/tools/chart:v1\n"
    );
    require_complete(directory, &mirror, 2);
}

#[test]
fn configuration_of_oc_mirror_and_single_images_are_mirrored() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = published(directory);
    push_image(directory, &source, "tools/app:v1", 1000);
    let config = "
kind: ImageSetConfiguration
apiVersion: mirror.openshift.io/v2alpha1
mirror:
  platform: {graph: true}
  operators:
  - catalog: quay.io/example/catalog:latest
    targetCatalog: own/index
    targetTag: v1
    packages: [{name: gizmo-operator}]
  additionalImages: [{name: quay.io/tools/app:v1, targetRepo: own/app, targetTag: stable}]
  blockedImages: [{name: '^registry.example.com/gizmo-operator:'}, {name: other}]
";
    fs::write(directory.join("set.yaml"), config).unwrap();
    let output = run(directory, &["mirror", "--imageset-config", "set.yaml", "--to", "oci:out"]);
    insta::assert_snapshot!("mirror-image-set-warnings", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = shown.lines().map(|line| line.split_once(['=', '@']).unwrap().0).collect();
    assert_eq!(
        names,
        ["quay.io/example/catalog:latest", "quay.io/example/gizmo-bundle:v1.2.0", "quay.io/tools/app:v1"]
    );

    let two = tempfile::tempdir().unwrap();
    let target = Registry::start(two.path());
    let to = format!("{}/m", target.address);
    let mirror = [
        "mirror",
        "--imageset-config",
        "set.yaml",
        "--to",
        &to,
        "--manifests-dir",
        "sets",
        "--plain-http",
        "--quiet",
    ];
    let output = run(directory, &mirror);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap().replace(&target.address, "TARGET");
    let digest = shown.split_once('@').unwrap().1.split_once('=').unwrap().0;
    let files = ["catalog-source-catalog.yaml", "image-digest-mirror-set.yaml", "mapping.txt"].map(|name| {
        let text = fs::read_to_string(directory.join("sets").join(name)).unwrap();
        format!("--- {name}\n{}", text.replace(&target.address, "TARGET"))
    });
    insta::assert_snapshot!("mirror-image-set", (shown.clone() + &files.concat()).replace(digest, "DIGEST"));
    // The tag of the source leads nowhere at the mirror.
    let tagged = fs::read_to_string(directory.join("sets/image-tag-mirror-set.yaml")).unwrap();
    assert!(tagged.contains("gizmo-bundle") && !tagged.contains("tools/app"), "{tagged}");
    for name in ["own/index:v1", "own/app:stable"] {
        stdout(&run(directory, &["inspect", &format!("{to}/{name}"), "--plain-http"]));
    }
    let check =
        ["mirror", "--imageset-config", "set.yaml", "--to", &to, "--plain-http", "--quiet", "--check"];
    assert_eq!(
        String::from_utf8_lossy(&run(directory, &check).stdout),
        "3 images checked, 0 parts missing\n"
    );
}

#[test]
fn dry_run_lists_images_with_their_sizes() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    push_image(directory, &source, "example/app:v1", 300_000);
    publish_package(directory, &source, "app", "app:v1");
    let target = Registry::start(two.path());
    let to = format!("{}/m", target.address);
    let catalog = "quay.io/example/catalog:latest";
    let list = || {
        let output = run(directory, &["mirror", catalog, "--to", &to, "--plain-http", "--dry-run"]);
        stdout(&output).replace(&target.address, "TARGET")
    };
    let before = list();
    stdout(&run(directory, &["mirror", "quay.io/example/app:v1", "--to", &to, "--plain-http"]));
    insta::assert_snapshot!("mirror-dry-run", format!("{before}---\n{}", list()));
    let json = |option: &[&str], code: i32| {
        let mirror = ["mirror", catalog, "--to", &to, "--plain-http", "--output", "json"];
        let output = run(directory, &[&mirror[..], option].concat());
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().replace(&target.address, "TARGET")
    };
    insta::assert_snapshot!(
        "mirror-json",
        [json(&["--dry-run"], 0), json(&["--check"], 1), json(&[], 0)].join("---\n")
    );
}

#[test]
fn dry_run_of_images_that_cannot_be_read_lists_errors_and_no_sizes() {
    let directory = tempfile::tempdir().unwrap();
    let pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: a, image: 127.0.0.1:1/a/b:v1}\n";
    let mirror = |options: &[&str]| {
        let mirror = ["mirror", "-", "--to", "oci:new", "--plain-http", "--dry-run"];
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
        let command = command.current_dir(&directory).args(mirror).args(options).write_stdin(pod);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (out, err) = mirror(&[]);
    assert_eq!(out, "1 image of unknown size\n");
    let reason = "failed to read 127.0.0.1:1/a/b:v1: failed to connect to the registry 127.0.0.1:1: connection refused";
    assert!(err.starts_with(&format!("error: {reason}")), "{err}");
    let (out, _) = mirror(&["--output", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed["images"], serde_json::json!([]));
    assert!(listed["errors"][0].as_str().unwrap().starts_with(reason), "{out}");
}

/// Forwards connections to a registry, and cuts some of them in the middle of what it returns.
struct Cutter {
    address: String,
}

impl Cutter {
    /// Cuts two of three connections after `limit` bytes in either direction.
    fn start(registry: &str, limit: u64) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let registry = registry.to_owned();
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&registry)) else { return };
                let limit = if number % 3 == 2 { u64::MAX } else { limit };
                for (mut from, mut to) in [
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server.try_clone().unwrap(), client.try_clone().unwrap()),
                ] {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut Read::by_ref(&mut from).take(limit), &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Both);
                        let _ = from.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Self { address }
    }
}

/// Publishes a catalog with `count` packages, each with an image of `size` bytes.
fn published_packages(directory: &Path, count: usize, size: usize) -> Registry {
    let source = published(directory);
    for number in 0..count {
        push_image(directory, &source, &format!("example/app{number}:v1"), size);
        publish_package(directory, &source, &format!("app{number}"), &format!("app{number}:v1"));
    }
    source
}

#[test]
fn broken_connections_are_continued() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published_packages(directory, 6, 700_000);
    // quay.io leads to the registry through connections that break.
    let cutter = Cutter::start(&source.address, 300_000);
    redirect(directory, &source.address, &cutter.address);
    let target = Registry::start(two.path());
    let to_target = Cutter::start(&target.address, 400_000);
    let registry = format!("{}/m", to_target.address);
    for to in [registry.as_str(), "oci:carried", "oci-archive:carried.tar"] {
        let mirror = ["mirror", CATALOG, "--to", to, "--plain-http"];
        // What breaks more often than it is retried is continued by the next run.
        let complete = (0..10).find(|_| run(directory, &mirror).status.success());
        assert!(complete.is_some(), "{to}");
        require_complete(directory, &mirror, 9);
    }
    assert_eq!(source.stop(), Some(0));
    // The archive is complete without the first registry.
    let to = format!("{}/carried", target.address);
    stdout(&run(directory, &["mirror", "oci-archive:carried.tar", "--to", &to, "--plain-http"]));
}

/// The name of the catalog of [`published`].
const CATALOG: &str = "quay.io/example/catalog:latest";

/// Lets the names of registries lead to another address.
fn redirect(directory: &Path, from: &str, to: &str) {
    let conf = directory.join(".config/containers/registries.conf");
    let text = fs::read_to_string(&conf).unwrap();
    fs::write(&conf, text.replace(from, to)).unwrap();
}

/// Checks that nothing is left to copy.
fn require_complete(directory: &Path, mirror: &[&str], images: usize) {
    let check = run(directory, &[mirror, &["--check"]].concat());
    let shown = String::from_utf8_lossy(&check.stdout).into_owned();
    let error = String::from_utf8_lossy(&check.stderr);
    assert_eq!(shown, format!("{images} images checked, 0 parts missing\n"), "{mirror:?}: {error}");
    // The layout that an archive is prepared in is gone.
    if !mirror.iter().any(|argument| argument.starts_with("oci-archive:")) {
        let listed = stdout(&run(directory, &[mirror, &["--dry-run"]].concat()));
        assert!(listed.contains("of which 0 B are to be copied"), "{listed}");
    }
}

/// The end of the first line of a request.
const REQUEST: &[u8] = b" HTTP/1.1\r\n";

/// Forwards connections to registries, counts their requests, and holds one of them.
struct Gate {
    state: Arc<GateState>,
    reached: Receiver<()>,
}

struct GateState {
    requests: AtomicUsize,
    /// The numbers of the first and the last request that are not forwarded.
    held: [AtomicUsize; 2],
    reached: Sender<()>,
}

impl Gate {
    fn new() -> Self {
        let (sender, reached) = channel();
        let state =
            GateState { requests: 0.into(), held: [usize::MAX; 2].map(AtomicUsize::new), reached: sender };
        Self { state: Arc::new(state), reached }
    }

    /// Returns the address that leads to a registry.
    fn before(&self, registry: &str) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (registry, state) = (registry.to_owned(), Arc::clone(&self.state));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(mut client), Ok(mut server)) = (client, TcpStream::connect(&registry)) else {
                    return;
                };
                let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut answers, &mut back);
                    let _ = back.shutdown(std::net::Shutdown::Both);
                });
                let state = Arc::clone(&state);
                std::thread::spawn(move || {
                    let mut buffer = vec![0; 64 << 10];
                    while let Ok(length @ 1..) = client.read(&mut buffer) {
                        let bytes = &buffer[..length];
                        for _ in bytes.windows(REQUEST.len()).filter(|window| *window == REQUEST) {
                            let number = state.requests.fetch_add(1, Ordering::SeqCst) + 1;
                            let [first, last] = [0, 1].map(|end| state.held[end].load(Ordering::SeqCst));
                            if (first..=last).contains(&number) {
                                if number == first {
                                    let _ = state.reached.send(());
                                }
                                // Until the client gives up.
                                let _ = std::io::copy(&mut client, &mut std::io::sink());
                                return;
                            }
                        }
                        if server.write_all(bytes).is_err() {
                            break;
                        }
                    }
                    let _ = server.shutdown(std::net::Shutdown::Both);
                });
            }
        });
        address
    }

    /// Counts from 0 again, and holds the requests with these numbers.
    fn hold(&self, [first, last]: [usize; 2]) {
        self.state.requests.store(0, Ordering::SeqCst);
        self.state.held[0].store(first, Ordering::SeqCst);
        self.state.held[1].store(last, Ordering::SeqCst);
    }

    /// Holds this request and all that follow it, so that no run ends.
    fn hold_from(&self, number: usize) {
        self.hold([number, usize::MAX]);
    }

    /// Counts from 0 again, and holds no request.
    fn open(&self) {
        self.hold([usize::MAX; 2]);
    }

    fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// Waits until the request arrives.
    fn wait(&self) {
        self.reached.recv_timeout(Duration::from_mins(1)).unwrap();
    }
}

/// Forwards the requests to a registry, one for each connection, and does to them what registries do.
struct Faults {
    address: String,
    state: Arc<FaultState>,
}

#[derive(Default)]
struct FaultState {
    requests: AtomicUsize,
    /// How many tokens were given out, and how often each was used.
    tokens: AtomicUsize,
    uses: Mutex<BTreeMap<String, usize>>,
    /// Transfers that have been broken: each breaks once.
    broken: Mutex<BTreeSet<String>>,
    mounts: AtomicUsize,
    limited: AtomicUsize,
    expired: AtomicUsize,
    /// Requests that write.
    writes: AtomicUsize,
    /// What the paths of manifests contain that are not available.
    missing: Mutex<Option<&'static str>>,
}

/// How often a token is accepted.
const USES_OF_A_TOKEN: usize = 4;
/// One of so many requests is rejected, because there are too many.
const LIMITED: usize = 40;
/// Transfers of more bytes break in the middle.
const LARGE: usize = 10_000;

impl Faults {
    /// Starts in front of a registry, which `hides` an image.
    fn before(registry: &str, hides: Option<&'static str>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(FaultState { missing: hides.into(), ..FaultState::default() });
        let (registry, own, shared) = (registry.to_owned(), address.clone(), Arc::clone(&state));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), state) = (client, Arc::clone(&shared)) else { return };
                let (registry, own) = (registry.clone(), own.clone());
                // A connection that ends early is the client's decision.
                std::thread::spawn(move || state.forward(&client, &registry, &own).ok());
            }
        });
        Self { address, state }
    }
}

impl FaultState {
    fn forward(&self, mut client: &TcpStream, registry: &str, own: &str) -> std::io::Result<()> {
        let mut reader = BufReader::new(client);
        let (mut line, mut head, mut length, mut token) = (String::new(), String::new(), 0, String::new());
        reader.read_line(&mut line)?;
        loop {
            let mut field = String::new();
            reader.read_line(&mut field)?;
            let (name, value) = field.trim_end().split_once(": ").unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "" => break,
                "content-length" => length = value.parse().unwrap(),
                "authorization" => value.clone_into(&mut token),
                "connection" => continue,
                _ => {}
            }
            head.push_str(&field);
        }
        let (method, path) = line.split_once(' ').unwrap_or_default();
        let path = path.split(' ').next().unwrap_or_default();
        let mut reply = |status: &str, fields: &str, body: &str| {
            let length = body.len();
            write!(
                client,
                "HTTP/1.1 {status}\r\n{fields}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            )
        };
        let is_write = matches!(method, "POST" | "PUT" | "PATCH");
        if length > LARGE && self.breaks(&format!("{method} {}", path.rsplit_once('/').unwrap_or_default().0))
        {
            let mut half = vec![0; length / 2];
            return reader.read_exact(&mut half);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        if path.starts_with("/token") {
            let token = self.tokens.fetch_add(1, Ordering::SeqCst);
            return reply(
                "200 OK",
                "content-type: application/json\r\n",
                &format!("{{\"token\":\"t{token}\"}}"),
            );
        }
        let uses = {
            let mut uses = self.uses.lock().unwrap();
            let uses = uses.entry(token.clone()).or_default();
            *uses += 1;
            *uses
        };
        if token.is_empty() || uses > USES_OF_A_TOKEN {
            self.expired.fetch_add(usize::from(!token.is_empty()), Ordering::SeqCst);
            let challenge =
                format!("www-authenticate: Bearer realm=\"http://{own}/token\",service=\"{own}\"\r\n");
            return reply("401 Unauthorized", &challenge, "");
        }
        if number % LIMITED == LIMITED - 1 {
            self.limited.fetch_add(1, Ordering::SeqCst);
            return reply("429 Too Many Requests", "retry-after: 0\r\n", "");
        }
        let missing = *self.missing.lock().unwrap();
        if missing.is_some_and(|missing| path.contains("/manifests/") && path.contains(missing)) {
            return reply("404 Not Found", "", "");
        }
        if is_write {
            self.writes.fetch_add(1, Ordering::SeqCst);
        }
        // A registry that does not mount starts an upload.
        let line = match line.split_once("?mount=") {
            Some((start, _)) => {
                self.mounts.fetch_add(1, Ordering::SeqCst);
                format!("{start} HTTP/1.1\r\n")
            }
            None => line.clone(),
        };
        let mut server = TcpStream::connect(registry)?;
        server.write_all(format!("{line}{head}connection: close\r\n\r\n").as_bytes())?;
        server.write_all(&body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        let is_cut = method == "GET" && answer.len() > LARGE && self.breaks(path);
        client.write_all(&answer[..if is_cut { answer.len() / 2 } else { answer.len() }])
    }

    /// Returns whether this transfer breaks, which it does once.
    fn breaks(&self, transfer: &str) -> bool {
        self.broken.lock().unwrap().insert(transfer.to_owned())
    }
}

/// Memory that a mirror may use for its data, in KiB.
const MEMORY: usize = 100 << 10;

/// Returns a mirror that may use so much [`MEMORY`].
fn limited(directory: &Path, mirror: &[&str]) -> Command {
    let tool = tool(directory);
    let mut limited = Command::new("sh");
    let script = format!("ulimit -d {MEMORY} && exec \"$0\" \"$@\"");
    limited.arg("-c").arg(script).arg(tool.get_program()).args(mirror).current_dir(directory);
    for (name, value) in tool.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

#[test]
fn forty_packages_are_mirrored_from_and_to_registries_with_every_fault() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published(directory);
    for number in 0..40 {
        push_image(directory, &source, &format!("example/app{number}:v1"), 2 * LARGE);
        add_package(directory, &format!("app{number}"), &format!("app{number}:v1"));
    }
    push_catalog(directory, &source);
    let target = Registry::start(two.path());
    let gate = Gate::new();
    let from = Faults::before(&gate.before(&source.address), Some("/app7/"));
    redirect(directory, &source.address, &from.address);
    let to = Faults::before(&gate.before(&target.address), None);
    let registry = format!("{}/m", to.address);
    let mirror = ["mirror", CATALOG, "--to", &registry, "--plain-http"];

    for number in 1..=10 {
        // Each run has to look at what earlier ones have copied.
        gate.hold_from(20 * number);
        let mut child = limited(directory, &mirror).stderr(Stdio::piped()).spawn().unwrap();
        gate.wait();
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{}", String::from_utf8_lossy(&output.stderr));
    }
    gate.open();
    let output = limited(directory, &mirror).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("app7:v1") && error.contains("1 image could not be mirrored"), "{error}");
    *from.state.missing.lock().unwrap() = None;
    stdout(&limited(directory, &mirror).output().unwrap());
    require_complete(directory, &mirror, 43);
    let writes = || to.state.writes.load(Ordering::SeqCst);
    let before = writes();
    assert!(before > 43, "{before}");
    stdout(&limited(directory, &mirror).output().unwrap());
    assert_eq!(writes(), before, "another run copies nothing");
    // The faults have happened.
    for state in [&from.state, &to.state] {
        let counts = [&state.expired, &state.limited].map(|count| count.load(Ordering::SeqCst));
        assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
        assert!(state.broken.lock().unwrap().len() >= 40);
    }
    assert_eq!(source.stop(), Some(0));
    let mirrored = format!("{registry}/example/catalog:latest");
    let check = ["mirror", &mirrored, "--to", &registry, "--check", "--plain-http"];
    let checked = run(directory, &check);
    assert_eq!(String::from_utf8_lossy(&checked.stdout), "43 images checked, 0 parts missing\n");
}

/// Starts a mirror.
fn start(directory: &Path, mirror: &[&str]) -> Child {
    tool(directory).args(mirror).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn runs_that_are_killed_at_any_request_are_continued() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = one.path();
    let source = published_packages(directory, 4, 100_000);
    let target = Registry::start(two.path());
    let gate = Gate::new();
    redirect(directory, &source.address, &gate.before(&source.address));
    let registry = format!("{}/m", gate.before(&target.address));
    for place in [registry.as_str(), "oci:carried", "oci-archive:packed"] {
        let to = |number: usize| format!("{place}{number}");
        gate.open();
        stdout(&run(directory, &["mirror", CATALOG, "--to", &to(0), "--plain-http"]));
        let all = gate.requests();
        for number in 1..=10 {
            let to = to(number);
            let mirror = ["mirror", CATALOG, "--to", &to, "--plain-http"];
            // The last one long before the end, because no two runs send the same number of requests.
            gate.hold_from((all * number / 13).max(1));
            let mut child = start(directory, &mirror);
            gate.wait();
            child.kill().unwrap();
            child.wait().unwrap();
            gate.open();
            if let Some(archive) = to.strip_prefix("oci-archive:") {
                assert!(!directory.join(archive).exists(), "{to}");
            }
            stdout(&run(directory, &mirror));
            assert!(gate.requests() <= all + all / 4, "{to}: {} after {all}", gate.requests());
            require_complete(directory, &mirror, 7);
        }
    }
}

#[test]
fn stalled_and_interrupted_runs_end_and_are_continued() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = published_packages(directory, 2, 100_000);
    let gate = Gate::new();
    redirect(directory, &source.address, &gate.before(&source.address));
    stdout(&run(directory, &["mirror", CATALOG, "--to", "oci:all"]));
    // Long before the end, because no two runs send the same number of requests.
    let half = gate.requests() / 2;

    let stalled = ["mirror", CATALOG, "--to", "oci-archive:stalled.tar", "--idle-timeout", "1s"];
    // A request that stalls is sent once more, which succeeds.
    gate.hold([half; 2]);
    stdout(&run(directory, &stalled));
    gate.wait();
    fs::remove_file(directory.join("stalled.tar")).unwrap();

    let interrupted = ["mirror", CATALOG, "--to", "oci-archive:interrupted.tar"];
    gate.hold_from(half);
    let child = start(directory, &interrupted);
    gate.wait();
    send_signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success(), "{:?}", output.status);
    assert!(!directory.join("interrupted.tar").exists());
    gate.open();
    stdout(&run(directory, &interrupted));
    require_complete(directory, &interrupted, 5);
}

#[test]
fn two_runs_into_one_layout_keep_the_images_of_both() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = published(directory);
    let names = ["one", "two"].map(|name| {
        push_image(directory, &source, &format!("tools/{name}:v1"), 100_000);
        format!("quay.io/tools/{name}:v1")
    });
    let gate = Gate::new();
    redirect(directory, &source.address, &gate.before(&source.address));
    // The first run has opened the layout when the second one starts.
    gate.open();
    stdout(&run(directory, &["mirror", &names[0], "--to", "oci:first"]));
    gate.hold_from(gate.requests());
    let first = start(directory, &["mirror", &names[0], "--to", "oci:both", "--idle-timeout", "2s"]);
    gate.wait();
    gate.open();
    let second = start(directory, &["mirror", &names[1], "--to", "oci:both"]);
    for child in [first, second] {
        stdout(&child.wait_with_output().unwrap());
    }
    require_complete(directory, &["mirror", &names[0], &names[1], "--to", "oci:both"], 2);
}

#[test]
fn two_runs_into_one_archive_write_it_one_after_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = published(directory);
    let name = "quay.io/tools/one:v1";
    push_image(directory, &source, "tools/one:v1", 100_000);
    let gate = Gate::new();
    redirect(directory, &source.address, &gate.before(&source.address));
    // The first run has opened the layout that it packs when the second one starts.
    gate.open();
    stdout(&run(directory, &["mirror", name, "--to", "oci:first"]));
    gate.hold_from(gate.requests());
    let arguments = ["mirror", name, "--to", "oci-archive:one.tar"];
    let first = start(directory, &[&arguments[..], &["--idle-timeout", "2s"]].concat());
    gate.wait();
    gate.open();
    let second = start(directory, &arguments);
    for child in [first, second] {
        stdout(&child.wait_with_output().unwrap());
    }
    let check = stdout(&run(directory, &[&arguments[..], &["--check"]].concat()));
    assert_eq!(check, "1 image checked, 0 parts missing\n");
    assert!(!directory.join("one.tar.partial").exists());
}

#[test]
fn time_that_ends_while_references_are_read_is_one_error() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = published(directory);
    let gate = Gate::new();
    redirect(directory, &source.address, &gate.before(&source.address));
    gate.hold_from(1);
    let references = ["quay.io/a/one:v1", "quay.io/a/two:v1", "quay.io/a/three:v1"];
    let (to, time) = (["--to", "oci:new"], ["--timeout", "1s"]);
    let failed = run(directory, &[&["mirror"][..], &references, &to, &time].concat());
    assert_eq!(failed.status.code(), Some(2));
    let error = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(error.matches("error").count(), 1, "{error}");
    assert!(error.contains("failed to read quay.io/a/one:v1") && error.contains("--timeout"), "{error}");
    assert!(!directory.join("new").exists());
}

#[test]
fn hostile_files_are_one_error_each_and_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let head = "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\n";
    let aliases = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned()
        + &"bcdefgh".chars().zip("abcdefg".chars()).fold(String::new(), |text, (name, of)| {
            format!("{text}{name}: &{name} [{}]\n", vec![format!("*{of}"); 10].join(", "))
        });
    let deep = "[".repeat(100_000);
    let config: &[&str] = &["mirror", "--to", "oci:out", "--imageset-config"];
    let manifests: &[&str] = &["mirror", "--to", "oci:out"];
    let policy: &[&str] = &["copy", "localhost:1/x", "oci:out", "--signature-policy"];
    let keyless = ["--certificate-identity", "a", "--certificate-oidc-issuer", "b", "--trusted-root"];
    let roots: &[&str] = &[&["verify", "localhost:1/x"][..], &keyless].concat();
    let convert: &[&str] = &["catalog", "convert-template", "basic"];
    let size: &[&str] = &["catalog", "size"];
    let list: &[&str] = &["catalog", "list", "bundles"];
    for (command, file, text, expected) in [
        (config, "set.yaml", format!("{head}{aliases}"), "excessive aliasing"),
        (config, "set.yaml", format!("{head}mirror: &m {{operators: *m}}"), "contains itself"),
        (config, "set.yaml", format!("{head}mirror: {deep}"), "nested deeper"),
        (config, "set.yaml", format!("{head}#{}", "x".repeat(5 << 20)), "exceeds the limit"),
        (config, "set.yaml", format!("{head}mirror: {{operators: 5}}"), "expected a list, found a number"),
        (config, "set.yaml", format!("{head}mirror: {{operators: [x]}}"), "expected a map, found a string"),
        (config, "set.yaml", format!("{head}mirror: {{operators: [{{catalog: []}}]}}"), "expected a string"),
        (manifests, "pods.yaml", format!("kind: Pod\n{aliases}"), "excessive aliasing"),
        (manifests, "pods.yaml", format!("kind: Pod\nspec: {deep}"), "nested deeper"),
        (manifests, "pods.yaml", "kind: Pod\n".to_owned(), "found no images"),
        (manifests, "chart.tgz", "no archive".to_owned(), "expected a chart"),
        (policy, "policy.json", deep.clone(), "nested too deeply at line 1, column 128"),
        (policy, "policy.json", "x".to_owned(), "of containers: invalid JSON at line 1, column 1"),
        (policy, "policy.json", r#"{"default":[],"default":[]}"#.to_owned(), "duplicate field `default`"),
        (roots, "root.json", deep.clone(), "expected a trusted_root.json"),
        (roots, "root.json", format!(r#"{{"tlogs":"{}"}}"#, "x".repeat(5 << 20)), "exceeds the limit"),
        (convert, "c.yaml", "schema: olm.package\nname: 5\n".to_owned(), "field `name` of a document"),
        (convert, "c.yaml", format!("schema: x\n{aliases}"), "excessive aliasing"),
        (size, "c.yaml", format!("schema: x\n{aliases}"), "excessive aliasing"),
        (list, "c.yaml", "schema: olm.channel\nentries: 5\n".to_owned(), "expected"),
    ] {
        fs::write(directory.join(file), &text).unwrap();
        let output = run(directory, &[command, &[file]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        let start: String = text.chars().take(100).collect();
        assert_eq!(output.status.code(), Some(2), "{command:?} {start}: {error}");
        assert!(error.starts_with("error: ") && error.lines().count() == 1, "{command:?} {start}: {error}");
        assert!(error.contains(expected) && error.len() < 500, "{command:?} {start}: {error}");
        assert!(output.stdout.is_empty() && !directory.join("out").exists(), "{command:?} {start}");
    }
}
