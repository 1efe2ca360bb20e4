//! Mistakes at the command line: each ends with one error that says what to do, and changes nothing.

use std::fs;

use crate::support::{copy_bundle, run};

/// The arguments, the exit status, and what the error says.
const MISTAKES: &[(&[&str], i32, &str)] = &[
    (
        &["registry", "serve", "--dir", "registry", "--listen-anywhere"],
        2,
        "--listen-anywhere has no effect with loopback address `127.0.0.1:5000`: pass --address, such as 0.0.0.0:5000",
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
    (
        &["olm", "install", "--version", "0.28.0"],
        2,
        "pass crds.yaml and olm.yaml of https://github.com/operator-framework/operator-lifecycle-manager/releases/tag/v0.28.0",
    ),
    (&["olm", "status", "--version"], 2, "unexpected argument '--version' found"),
    (&["validate", "bundle", "-V"], 2, "unexpected argument '-V' found"),
    (&["doctor", "--must-gather", "bundle"], 2, "bundle contains manifests, not objects of a cluster"),
];

/// Commands that read a bundle, for `INPUT`.
const READS_BUNDLE: &[&[&str]] = &[
    &["diff", "INPUT", "bundle"],
    &["diff", "bundle", "INPUT"],
    &["push", "bundle", "INPUT", "registry.example.com/gizmo-bundle:v1", "--to", "oci:new"],
    &["run", "bundle", "INPUT"],
    &["render", "manifests", "INPUT"],
    &["scorecard", "INPUT"],
    &["generate", "submission", "repository", "--bundle", "INPUT"],
    &["catalog", "add", "new", "INPUT", "--image", "quay.io/example/gizmo-bundle:v1"],
];

/// Commands that read a catalog, for `INPUT`.
const READS_CATALOG: &[&[&str]] = &[
    &["catalog", "validate", "INPUT"],
    &["catalog", "graph", "INPUT"],
    &["catalog", "diff", "INPUT", "catalog"],
    &["catalog", "diff", "catalog", "INPUT"],
    &["catalog", "prune", "INPUT", "--keep", "gizmo-operator"],
    &[
        "catalog",
        "deprecate",
        "INPUT",
        "--package",
        "gizmo-operator",
        "--channel",
        "stable",
        "--message",
        "old",
    ],
    &["catalog", "explain-upgrade", "INPUT", "--package", "gizmo-operator", "--installed", "1.0.0"],
    &["catalog", "add", "INPUT", "bundle", "--image", "quay.io/example/gizmo-bundle:v1"],
    &["push", "catalog", "INPUT", "registry.example.com/catalog:v1", "--to", "oci:new"],
    &["serve", "INPUT", "--cache-dir", "new", "--cache-only"],
];

#[test]
fn catalog_as_bundle_and_bundle_as_catalog_have_one_error_each() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    fs::create_dir_all(dir.path().join("repository/operators")).unwrap();
    let add = ["catalog", "add", "catalog", "bundle", "--image", "quay.io/example/gizmo-bundle:v1"];
    assert_eq!(run(dir.path(), &add).status, Some(0));
    for (input, commands, says) in [
        ("catalog", READS_BUNDLE, "catalog is a file-based catalog, expected a bundle: "),
        ("bundle", READS_CATALOG, "bundle is a bundle, expected a file-based catalog: "),
    ] {
        for command in commands {
            let arguments: Vec<&str> =
                command.iter().map(|word| if *word == "INPUT" { input } else { word }).collect();
            let output = run(dir.path(), &arguments);
            assert_eq!(output.status, Some(2), "{arguments:?}: {}{}", output.stdout, output.stderr);
            let errors: Vec<_> = output.stderr.lines().filter(|line| line.starts_with("error")).collect();
            assert!(
                matches!(errors[..], [error] if error.contains(says)),
                "{arguments:?}: {}",
                output.stderr
            );
            assert!(!dir.path().join("new").exists(), "{arguments:?}");
        }
    }
}

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
fn version_is_an_option_of_the_program_alone() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), &["--version"]);
    assert_eq!(
        (output.status, output.stdout),
        (Some(0), format!("bundle-tool {}\n", env!("CARGO_PKG_VERSION")))
    );
}

#[test]
fn olm_install_rejects_manifests_of_another_version() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifests = String::new();
    for plural in [
        "catalogsources",
        "clusterserviceversions",
        "installplans",
        "olmconfigs",
        "operatorconditions",
        "operatorgroups",
        "operators",
        "subscriptions",
    ] {
        let name = format!("{plural}.operators.coreos.com");
        let kind = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition";
        manifests = format!("{manifests}---\n{kind}\nmetadata: {{name: {name}}}\n");
    }
    for name in ["catalog-operator", "olm-operator"] {
        manifests =
            format!("{manifests}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\n");
    }
    manifests += "---\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n\
                  metadata: {name: packageserver}\nspec: {version: 0.27.0}\n";
    fs::write(dir.path().join("olm.yaml"), manifests).unwrap();
    let output = run(dir.path(), &["olm", "install", "--version", "v0.28.0", "--manifests", "olm.yaml"]);
    assert_eq!(output.status, Some(2));
    let expected = "error: the manifests are of version `0.27.0`, but --version requires `v0.28.0`\n";
    assert_eq!(output.stderr, expected);
}

#[test]
fn scaffold_rejects_reserved_kinds_and_accepts_long_ones() {
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

#[test]
fn errors_of_the_system_and_of_connections_are_in_plain_words() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    std::os::unix::fs::symlink("loop.yaml", dir.path().join("bundle/manifests/loop.yaml")).unwrap();
    fs::write(
        dir.path().join("kubeconfig"),
        "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n\
         current-context: a\nusers: [{name: a, user: {}}]\n",
    )
    .unwrap();
    let add = ["catalog", "add", "catalog", "bundle", "--image", "quay.io/example/gizmo-bundle:v1"];
    for command in [
        &["validate", "bundle"][..],
        &["validate", "nowhere"],
        &["fix", "nowhere"],
        &["fix", "bundle"],
        &["push", "bundle", "bundle", "127.0.0.1:1/gizmo-bundle:v1", "--plain-http"],
        &add,
        &["catalog", "validate", "nowhere"],
        &["inspect", "127.0.0.1:1/gizmo:v1", "--plain-http"],
        &["inspect", "127.0.0.1:1/gizmo:v1"],
        &["copy", "oci:nowhere", "oci:new"],
        &["validate", "oci-archive:bundle"],
        &["verify", "127.0.0.1:1/gizmo:v1", "--key", "nowhere"],
        &["login", "127.0.0.1:1", "--username", "ada", "--password-stdin", "--plain-http"],
        &["olm", "status", "--kubeconfig", "kubeconfig"],
        &["olm", "status", "--kubeconfig", "nowhere"],
        &["serve", "nowhere"],
        &["generate", "bundle", "--input-dir", "nowhere", "--package", "gizmo", "--version", "1.0.0"],
    ] {
        let output = run(dir.path(), command);
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(matches!(output.status, Some(1 | 2)), "{command:?}: {said}");
        for internal in ["os error", "client error", "Error {", "Error(", "Os {", "Custom {", "kind:"] {
            assert!(!said.contains(internal), "{command:?} says `{internal}`: {said}");
        }
    }
}
