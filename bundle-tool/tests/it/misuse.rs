//! Mistakes at the command line: each ends with one error that says what to do, and changes nothing.

use std::fs;

use crate::support::{copy_bundle, run};

/// The arguments, the exit status, and what the error says.
const MISTAKES: &[(&[&str], i32, &str)] = &[
    (
        &["registry", "serve", "--dir", "registry", "--listen-anywhere"],
        2,
        "--listen-anywhere has no effect with loopback address `127.0.0.1:5000`: set --address, such as 0.0.0.0:5000",
    ),
    (
        &[
            "push",
            "image",
            "example.com/a:v1",
            "program=/manager",
            "--entrypoint",
            "/manger",
            "--to",
            "oci:a",
        ],
        2,
        "the program of --entrypoint, `/manger`, is not in the image, which contains `/manager`",
    ),
    (
        &["mirror", "bundle", "--to", "registry.example.com/mirror", "--package", "gizmo-operator"],
        2,
        "--package, --channel and --min-version apply to catalogs, not to a bundle",
    ),
    (
        &["render", "bundle", "bundle", "--image", "quay.io/example/gizmo-bundle:v1"],
        2,
        "--image requires a single REF, found 2: render each bundle with its own image",
    ),
    (&["doctor", "--from", "bundle"], 2, "bundle contains manifests, not objects of a cluster"),
    (&["catalog", "validate", "bundle"], 1, "this is a Kubernetes manifest: validate a bundle with"),
];

#[test]
fn mistakes_are_explained_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    fs::write(dir.path().join("program"), "#!/bin/sh\n").unwrap();
    for (arguments, status, says) in MISTAKES {
        let output = run(dir.path(), arguments);
        let said = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.status, Some(*status), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
        let mut left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["bundle", "program"], "{arguments:?}");
    }
}

#[test]
fn kinds_that_a_scaffold_cannot_have_are_refused_and_long_ones_work() {
    let dir = tempfile::tempdir().unwrap();
    let init =
        ["init", "--domain", "example.com", "--project-name", "gizmo-operator", "--skip-cargo-version-check"];
    assert_eq!(run(dir.path(), &init).status, Some(0));
    let create = |kind: &str| {
        let kind = ["create", "api", "--group", "a", "--version", "v1", "--kind", kind];
        run(
            dir.path(),
            &[&kind[..], &["--image", "example.com/a:v1", "--image-container-port", "80"]].concat(),
        )
    };
    for kind in ["Instance", "Deployment", "Pod", "Rollout"] {
        let output = create(kind);
        assert_eq!(output.status, Some(2), "{kind}: {}", output.stderr);
        assert!(output.stderr.contains("a type of this name"), "{kind}: {}", output.stderr);
    }
    assert_eq!(create("VirtualMachineInstance").status, Some(0));
    let controller =
        fs::read_to_string(dir.path().join("src/controller/virtual_machine_instance.rs")).unwrap();
    // The name of a port has at most 15 characters.
    assert!(controller.contains(r#"workload::port("http", "#), "{controller}");
}
