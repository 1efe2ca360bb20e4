//! Annotations of the images that `push` builds.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::push::{failure, stdout, tool};
use crate::support::{copy_bundle, git};

/// Runs the tool in a directory, above which git and Cargo.toml do not count.
fn run(directory: &Path, arguments: &[&str]) -> Output {
    let ceiling = directory.parent().unwrap();
    tool(directory).args(arguments).env("GIT_CEILING_DIRECTORIES", ceiling).output().unwrap()
}

/// A clone with a bundle, a program and the remote `origin`.
fn clone(directory: &Path, origin: &str) {
    fs::create_dir(directory).unwrap();
    copy_bundle(directory.join("bundle"));
    fs::write(directory.join("run"), "#!/bin/sh\n").unwrap();
    git(directory, &["init", "--quiet"]);
    git(directory, &["remote", "add", "origin", origin]);
    commit(directory);
}

fn commit(directory: &Path) {
    git(directory, &["add", "."]);
    git(directory, &["commit", "--quiet", "--message", "next"]);
}

fn head(directory: &Path) -> String {
    let output = Command::new("git").arg("-C").arg(directory).args(["rev-parse", "HEAD"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The manifest or index with a digest in a layout.
pub(crate) fn manifest(layout: &Path, digest: &str) -> Value {
    let path = layout.join("blobs").join(digest.trim_end().replace(':', "/"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The annotations of what was written to a layout.
pub(crate) fn annotations(layout: &Path, printed: &str) -> Value {
    manifest(layout, printed.split_once('@').unwrap().1)["annotations"].clone()
}

#[test]
fn clones_of_a_commit_have_the_same_annotations() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let remotes =
        ["https://alice:hunter2@example.com/org/gizmo.git?token=hunter2", "git@example.com:org/gizmo"];
    for (name, remote) in ["one", "two"].into_iter().zip(remotes) {
        clone(&path(name), remote);
    }
    let push = |clone: &str, more: &[&str]| {
        let arguments = ["push", "bundle", "bundle", "x/a:v1", "--to", "oci:../out"];
        stdout(&run(&path(clone), &[&arguments[..], more].concat()))
    };
    let plain = push("one", &[]);
    assert_eq!(annotations(&path("out"), &plain), Value::Null);
    let derived = push("one", &["--annotate"]);
    assert_eq!(push("two", &["--annotate"]), derived);
    let expected = json!({
        "org.opencontainers.image.revision": head(&path("one")),
        "org.opencontainers.image.source": "https://example.com/org/gizmo",
        "org.opencontainers.image.version": "1.2.0",
    });
    assert_eq!(annotations(&path("out"), &derived), expected);

    // What is committed is the same in forks, too. The bundle has a version of its own.
    let cargo = "[package]\nname = \"gizmo\"\nversion = \"7.0.0\"\nlicense = \"MIT/Apache-2.0\"\n\
                 repository = \"https://example.com/upstream/gizmo\"\n";
    for clone in ["one", "two"] {
        fs::write(path(clone).join("Cargo.toml"), cargo).unwrap();
        commit(&path(clone));
    }
    git(&path("two"), &["remote", "set-url", "origin", "https://example.com/fork/gizmo.git"]);
    let derived = push("one", &["--annotate"]);
    assert_eq!(push("two", &["--annotate"]), derived);
    let found = annotations(&path("out"), &derived);
    assert_eq!(found["org.opencontainers.image.source"], "https://example.com/upstream/gizmo");
    assert_eq!(found["org.opencontainers.image.licenses"], "MIT OR Apache-2.0");
    assert_eq!(found["org.opencontainers.image.version"], "1.2.0");
    assert_eq!(push("one", &[]), plain, "without --annotate, nothing but the files counts");
}

#[test]
fn the_users_annotations_replace_and_remove_others() {
    let directory = tempfile::tempdir().unwrap();
    let clone_path = directory.path().join("clone");
    clone(&clone_path, "https://example.com/org/gizmo");
    let out = clone_path.join("out");
    let image = ["push", "image", "x/a:v1", "run=/run", "--to", "oci:out", "--annotate"];
    let own = [
        "--annotation",
        "org.opencontainers.image.source=",
        "--annotation",
        "org.opencontainers.image.version=v=1",
        "--annotation",
        "com.example.team=gizmo",
        "--annotation",
        "not.derived=",
    ];
    let printed = stdout(&run(&clone_path, &[&image[..], &own].concat()));
    // The layout is a new file in the clone.
    assert_eq!(stdout(&run(&clone_path, &[&image[..], &own].concat())), printed);
    let expected = json!({
        "com.example.team": "gizmo",
        "org.opencontainers.image.revision": head(&clone_path),
        "org.opencontainers.image.version": "v=1",
    });
    assert_eq!(annotations(&out, &printed), expected);

    // An index and its images have the same annotations.
    let platforms = ["--platform", "linux/amd64=run,linux/arm64=run", "--entrypoint", "/bin/run"];
    let printed = stdout(&run(&clone_path, &[&image[..], &own, &platforms].concat()));
    let index = manifest(&out, printed.split_once('@').unwrap().1);
    assert_eq!(index["annotations"], expected);
    for image in index["manifests"].as_array().unwrap() {
        assert_eq!(manifest(&out, image["digest"].as_str().unwrap())["annotations"], expected);
    }

    // A catalog has no version.
    fs::create_dir(clone_path.join("catalog")).unwrap();
    let package = r#"{"schema": "olm.package", "name": "gizmo", "defaultChannel": "stable"}"#;
    fs::write(clone_path.join("catalog/c.json"), package).unwrap();
    fs::write(clone_path.join("Cargo.toml"), "[package]\nname = \"gizmo\"\nversion = \"7.0.0\"\n").unwrap();
    fs::remove_dir_all(&out).unwrap();
    commit(&clone_path);
    let catalog = ["push", "catalog", "catalog", "x/c:v1", "--data-only", "--no-validate", "--annotate"];
    let printed = stdout(&run(&clone_path, &[&catalog[..], &["--to", "oci:out"]].concat()));
    let expected = json!({
        "org.opencontainers.image.revision": head(&clone_path),
        "org.opencontainers.image.source": "https://example.com/org/gizmo",
    });
    assert_eq!(annotations(&out, &printed), expected);
    // An image of files has the crate's version.
    let printed = stdout(&run(&clone_path, &image));
    assert_eq!(annotations(&out, &printed)["org.opencontainers.image.version"], "7.0.0");
}

#[test]
fn a_revision_is_set_only_for_its_own_files() {
    let directory = tempfile::tempdir().unwrap();
    let clone_path = directory.path().join("clone");
    clone(&clone_path, "https://example.com/org/gizmo");
    let bundle = ["push", "bundle", "bundle", "x/a:v1", "--to", "oci:../out", "--annotate"];
    let image = ["push", "image", "x/a:v1", "run=/run", "--to", "oci:../out", "--annotate"];
    let commit = head(&clone_path);
    let warned = |arguments: &[&str]| {
        let output = run(&clone_path, arguments);
        let warning = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && warning.lines().count() == 1, "{warning}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let found = annotations(&directory.path().join("out"), &printed);
        assert_eq!(found.get("org.opencontainers.image.revision"), None);
        warning.replace(&commit, "COMMIT")
    };
    // In a bundle, every file counts.
    fs::create_dir(clone_path.join("bundle/tests")).unwrap();
    fs::write(clone_path.join("bundle/tests/a.yaml"), "a: b").unwrap();
    stdout(&run(&clone_path, &image));
    let prefix = "warning: the annotation org.opencontainers.image.revision is not set: ";
    assert_eq!(warned(&bundle), format!("{prefix}bundle differs from commit COMMIT\n"));
    let own = ["--annotation", "org.opencontainers.image.revision=abc"];
    stdout(&run(&clone_path, &[&bundle[..], &own].concat()));
    fs::write(clone_path.join("run"), "changed").unwrap();
    assert_eq!(warned(&image), format!("{prefix}. differs from commit COMMIT\n"));
    fs::remove_dir_all(clone_path.join(".git")).unwrap();
    assert!(warned(&image).starts_with(&format!("{prefix}not a git repository")));
}

#[test]
fn annotations_that_cannot_be_set_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let clone_path = directory.path().join("clone");
    clone(&clone_path, "https://example.com/org/gizmo");
    let cases: [(&[&str], &str); 8] = [
        (&["--annotation", "a"], "expected NAME=VALUE"),
        (&["--annotation", "=b"], "expected NAME=VALUE"),
        (&["--annotation", "a b=c"], "the name must not contain whitespace or control characters"),
        (&["--annotation", "a\n=c"], "the name must not contain whitespace or control characters"),
        (&["--manifest-path", "Cargo.toml"], "--annotate"),
        (&["--annotate", "--manifest-path", "none/Cargo.toml"], "none/Cargo.toml does not exist"),
        (&["--annotate", "--manifest-path", "broken.toml"], "broken.toml:1:"),
        (&["--annotate", "--manifest-path", "workspace.toml"], "workspace.toml has no [package]"),
    ];
    fs::write(clone_path.join("workspace.toml"), "[workspace]\n").unwrap();
    fs::write(clone_path.join("broken.toml"), "[package").unwrap();
    let image = ["push", "image", "x/a:v1", "run=/run"];
    for (arguments, expected) in cases {
        let error = failure(&run(&clone_path, &[&image[..], &["--to", "oci:out"], arguments].concat()));
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    for arguments in [&["--annotate"][..], &["--annotation", "a=b"]] {
        let to = ["--to", "docker-archive:out"];
        let error = failure(&run(&clone_path, &[&image[..], &to, arguments].concat()));
        let expected = "error: docker-archive:out cannot contain annotations: write an oci-archive, or omit";
        assert!(error.starts_with(expected) && error.lines().count() == 1, "{error}");
    }
    // The nearest Cargo.toml is found, and must be valid; that of a workspace names no package.
    fs::write(clone_path.join("Cargo.toml"), "[package\n").unwrap();
    let bundle = ["push", "bundle", "bundle", "x/a:v1", "--annotate", "--to", "oci:out"];
    let error = failure(&run(&clone_path, &bundle));
    assert!(error.contains("/clone/Cargo.toml:1:"), "{error}");
    assert!(!clone_path.join("out").exists(), "something was written");
    fs::write(clone_path.join("Cargo.toml"), "[workspace]\n").unwrap();
    stdout(&run(&clone_path, &bundle));
}
