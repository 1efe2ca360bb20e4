//! OCI layouts and archives from elsewhere, as the tool meets them: files that block, bombs, and what a failed run
//! leaves behind.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use oci_images::layout::{File, FileMap, ImageBuilder, Source, layer, write_directory};

const BUNDLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundle");

/// Nothing here takes longer, however slow the machine is.
const LONG: Duration = Duration::from_mins(1);

/// Runs the tool, and fails if it does not end.
fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(arguments)
        .env("HOME", directory)
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LONG {
            child.kill().unwrap();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Runs the tool, which fails, and returns its error.
fn error(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    error
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_layout_or_an_archive_without_its_prefix_is_read_or_named() {
    let scratch = tempfile::tempdir().unwrap();
    for arguments in [
        ["push", "bundle", BUNDLE, "quay.io/example/bundle:v1", "--to", "oci:layout"].as_slice(),
        &["copy", "oci:layout", "oci-archive:a.tar"],
    ] {
        let output = run(scratch.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for reference in ["layout", "a.tar"] {
        assert_eq!(run(scratch.path(), &["validate", reference]).status.code(), Some(0), "{reference}");
    }
    let image = "quay.io/example/bundle:v1";
    fs::create_dir(scratch.path().join("catalog")).unwrap();
    fs::write(scratch.path().join("catalog/a.yaml"), "schema: olm.package\nname: gizmo-operator\n").unwrap();
    for arguments in [
        &["diff", "layout", BUNDLE][..],
        &["diff", BUNDLE, "layout"],
        &["render", "layout"],
        &["render", "manifests", "layout"],
        &["scorecard", "layout"],
        &["catalog", "validate", "layout"],
        &["catalog", "add", "catalog", "layout", "--image", image],
        &["mirror", "layout", "--to", "oci:mirror"],
    ] {
        let error = error(scratch.path(), arguments);
        assert!(error.contains("layout is an OCI layout: use `oci:layout`"), "{arguments:?}: {error}");
    }
    for arguments in [&["render", "a.tar"][..], &["catalog", "validate", "a.tar"]] {
        let error = error(scratch.path(), arguments);
        assert!(
            error.contains("a.tar is an image archive: use `oci-archive:a.tar`"),
            "{arguments:?}: {error}"
        );
    }
    fs::create_dir(scratch.path().join("empty")).unwrap();
    let error = error(scratch.path(), &["copy", "oci:empty", "oci:copy"]);
    assert!(error.contains("empty is not a valid OCI layout: index.json is missing"), "{error}");
}

#[test]
fn fifos_in_a_layout_or_as_an_archive_do_not_block() {
    let dir = tempfile::tempdir().unwrap();
    make_fifo(&dir.path().join("archive.tar"));
    let message = error(dir.path(), &["validate", "oci-archive:archive.tar"]);
    assert!(message.contains("is a FIFO, expected a regular file"), "{message}");

    let push = ["push", "bundle", BUNDLE, "registry.test/a:v1", "--to", "oci:layout"];
    assert!(run(dir.path(), &push).status.success());
    let blobs = dir.path().join("layout/blobs/sha256");
    for path in
        names(&blobs).iter().map(|name| blobs.join(name)).chain([dir.path().join("layout/index.json")])
    {
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        make_fifo(&path);
        let message = error(dir.path(), &["validate", "oci:layout"]);
        assert!(message.contains("is a FIFO, expected a regular file"), "{message}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(run(dir.path(), &["validate", "oci:layout"]).status.code(), Some(0));
}

#[test]
fn dangling_link_as_target_survives() {
    let dir = tempfile::tempdir().unwrap();
    symlink("nowhere", dir.path().join("link")).unwrap();
    error(dir.path(), &["push", "bundle", BUNDLE, "registry.test/a:v1", "--to", "oci:link"]);
    assert_eq!(names(dir.path()), ["link"]);
}

#[test]
fn image_that_expands_beyond_the_limit_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = FileMap::new();
    let bytes = vec![b' '; (32 << 20) + 1];
    files.add("manifests/a.yaml", File { source: Source::Bytes(bytes), executable: false }).unwrap();
    let image =
        ImageBuilder { layers: vec![layer(&files, 0).unwrap()], ..ImageBuilder::default() }.build().unwrap();
    write_directory(&dir.path().join("layout"), &image, "a:v1").unwrap();
    for command in ["validate", "render"] {
        let message = error(dir.path(), &[command, "oci:layout"]);
        assert!(message.contains("file `manifests/a.yaml` exceeds the limit of 33554432 bytes"), "{message}");
    }
}

#[test]
fn links_out_of_a_bundle_are_not_shipped() {
    let dir = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").args(["-r", BUNDLE]).arg(dir.path().join("bundle")).status().unwrap();
    assert!(copied.success());
    fs::write(dir.path().join("secret"), "password").unwrap();
    symlink("../../secret", dir.path().join("bundle/manifests/secret.txt")).unwrap();
    let before = names(dir.path());
    let push = ["push", "bundle", "bundle", "registry.test/a:v1", "--to", "oci:layout", "--no-validate"];
    let message = error(dir.path(), &push);
    assert!(message.contains("the symbolic link points outside the directory"), "{message}");
    assert_eq!(names(dir.path()), before);
}

#[test]
fn index_image_with_both_labels_is_a_catalog() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = FileMap::new();
    let catalog = "schema: olm.package\nname: gizmo\ndefaultChannel: stable\n---\nschema: olm.channel\nname: stable\n\
                   package: gizmo\nentries: [{name: gizmo.v1.0.0}]\n---\nschema: olm.bundle\nname: gizmo.v1.0.0\n\
                   package: gizmo\nimage: quay.io/a/b:v1\nproperties:\n- {type: olm.package, value: {packageName: gizmo, version: 1.0.0}}\n";
    let source = Source::Bytes(catalog.into());
    files.add("configs/catalog.yaml", File { source, executable: false }).unwrap();
    let labels = |names: &[(&str, &str)]| {
        names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let database = ("operators.operatorframework.io.index.database.v1", "/database/index.db");
    let configs = ("operators.operatorframework.io.index.configs.v1", "/configs");
    for (name, labels) in [("both", labels(&[database, configs])), ("database", labels(&[database]))] {
        let layers = vec![layer(&files, 0).unwrap()];
        let image = ImageBuilder { layers, labels, ..ImageBuilder::default() }.build().unwrap();
        write_directory(&dir.path().join(name), &image, "a:v1").unwrap();
    }
    for command in [&["validate"][..], &["catalog", "validate"], &["render"]] {
        let output = run(dir.path(), &[command, &["oci:both"]].concat());
        assert!(output.status.success(), "{command:?}: {output:?}");
        let message = error(dir.path(), &[command, &["oci:database"]].concat());
        assert!(message.contains("the image is an SQLite index, not a file-based catalog"), "{message}");
    }
    let message = error(dir.path(), &["catalog", "add", "catalog", "oci:both", "--image", "quay.io/a/b:v1"]);
    assert!(message.contains("oci:both is a file-based catalog, expected a bundle"), "{message}");
}
