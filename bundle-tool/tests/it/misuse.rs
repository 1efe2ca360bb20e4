//! Mistakes at the command line: each ends with one error that says what to do, and changes nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sign::keys;
use crate::support::{bundle_and_catalog, copy_bundle, run, utf8};

/// The arguments, the exit status, and what the error says.
const MISTAKES: &[(&[&str], i32, &str)] = &[
    (
        &["push", "bundle", "example.com/gizmo-bundle:v1", "bundle"],
        2,
        "the directory comes first, and then the name of the image: `push bundle bundle example.com/gizmo-bundle:v1`",
    ),
    (
        &["push", "catalog", "example.com/catalog:v1", "bundle"],
        2,
        "the directory comes first, and then the name of the image: `push catalog bundle example.com/catalog:v1`",
    ),
    (
        &["push", "image", "program=/manager", "example.com/a:v1"],
        2,
        "expected SOURCE=TARGET after the name of the image, such as target/release/manager=/manager",
    ),
    // The options for registries are the same everywhere, but a cache transfers no layers at once.
    (
        &["registry", "serve", "--dir", "registry", "--parallel", "2"],
        2,
        "unexpected argument '--parallel' found",
    ),
    (&["run", "bundle", "bundle", "--client-key", "key.pem"], 2, "--client-cert <FILE>"),
    (&["test", "upgrade", "bundle", "bundle", "--parallel", "0"], 2, "must be between 1 and 64"),
    (&["diff", "bundle", "-"], 2, "a bundle cannot be read from standard input: pass a directory"),
    (&["catalog", "diff", "-", "-"], 2, "only one of the catalogs can be read from standard input"),
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
        &["mirror", "bundle", "--to", "registry.example.com/mirror", "--keep", "gizmo-operator"],
        2,
        "--keep applies to catalogs, and no REF is a catalog",
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
    (&["catalog", "validate", "-"], 2, "standard input is empty: expected a file-based catalog"),
    (&["catalog", "list", "bundles", "-"], 2, "standard input is empty: expected a file-based catalog"),
    (
        &["catalog", "convert-template", "basic", "-"],
        2,
        "standard input is empty: expected a file-based catalog",
    ),
    (&["catalog", "template", "basic", "-"], 2, "standard input is empty: expected a catalog template"),
    (
        &["push", "image", "example.com/a:v1", "program=/m", "--user", "a b", "--to", "oci:a"],
        2,
        "expected USER[:GROUP], such as 65532:65532",
    ),
    (
        &["inspect", "quay.io/x/y:v1", "--plain-http=a:b:c"],
        2,
        "expected HOST or HOST:PORT, such as registry.example.com:5000",
    ),
    (
        &["run", "bundle", "bundle", "--opm-image", "a b", "--dry-run=client"],
        2,
        "invalid value 'a b' for '--opm-image <IMAGE>'",
    ),
    (
        &["generate", "bundle", "--version", "1.0.0", "--channels", "stable fast", "--input-dir", "bundle"],
        2,
        "invalid channel `stable fast`: must not contain whitespace or control characters; separate channels with commas",
    ),
    (&["validate", "bundle", "--watch-namespace", "A B"], 2, "invalid value of --watch-namespace"),
    (
        &[
            "mirror",
            "bundle",
            "--to",
            "oci:new",
            "--manifests-dir",
            "new",
            "--manifests-registry",
            "registry.example.com",
        ],
        2,
        "--manifests-dir is the directory of --to, new: choose another one",
    ),
    (
        &[
            "push",
            "bundle",
            "bundle",
            "example.com/a:v1",
            "--dockerfile",
            "bundle/metadata/annotations.yaml",
            "--to",
            "oci:a",
        ],
        2,
        "annotations.yaml:1: unknown instruction `annotations:`",
    ),
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
    bundle_and_catalog(dir.path());
    fs::create_dir_all(dir.path().join("repository/operators")).unwrap();
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
        let said = output.printed();
        assert_eq!(output.status, Some(*status), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
        let mut left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["bundle", "program"], "{arguments:?}");
    }
}

/// The arguments, the exit status, and what the messages say: in the terms of the user, and not in those of a parser.
const MESSAGES: &[(&[&str], i32, &str)] = &[
    (&["scorecard", "bundle", "-c", "a.toml"], 2, "error: a.toml:1:1: expected a map, found a string\n"),
    (
        &["scorecard", "bundle", "-l", "suite=zzz", "-o", "json"],
        0,
        "the selector `suite=zzz` matches no test\n",
    ),
    (
        &["scorecard", "bundle", "-n", "A_b"],
        2,
        "error: invalid namespace `A_b`: must consist of lowercase letters",
    ),
    (
        &["olm", "install", "--manifests", "bundle/metadata"],
        2,
        "annotations.yaml:1:1: missing required field `kind`\n",
    ),
    (
        &["inspect", "./bundle"],
        2,
        "./bundle is a bundle directory, expected an image; validate it with `bundle-tool validate`",
    ),
    (
        &["copy", "./catalog", "oci:new"],
        2,
        "./catalog is a catalog directory, expected an image; validate it with `bundle-tool catalog validate`",
    ),
    (&["inspect", "./new"], 2, "./new does not exist\n"),
    (
        &["inspect", "https://quay.io/x/y:v1"],
        2,
        "invalid image name `https://quay.io/x/y:v1`: must not begin with `https://`",
    ),
    (
        &["inspect", "oci-archive:a.toml"],
        2,
        "not a valid OCI archive: expected an uncompressed tar archive\n",
    ),
    (
        &["verify", "a.toml", "--key", "cosign.pub"],
        2,
        "a.toml is a file: pass its signature with --signature\n",
    ),
    (
        &["verify", "oci:new", "--key", "cosign.pub"],
        2,
        "expected the name of an image in a registry, found oci:new\n",
    ),
    (
        &["catalog", "add", "new", "bundle", "--image", "x.io/a:v1", "--image", "x.io/a:v2"],
        2,
        "--image must be passed once for each bundle that is not an image name: expected 1, found 2\n",
    ),
    (
        &["push", "image", "x.io/a:v1", "a.toml=/x", "b.toml=/x", "--to", "oci:new"],
        2,
        "error: duplicate path `/x` in the image: a.toml and b.toml\n",
    ),
    (
        &["push", "image", "x.io/a:v1", "a.toml=/x/y", "b.toml=/x", "--to", "oci:new"],
        2,
        "error: duplicate path `/x` in the image: a.toml and b.toml\n",
    ),
    (&["push", "bundle", "bundle", "x.io/a:v1", "--to", "oci-archive:new/a.tar"], 2, NO_DIRECTORY),
    (&["copy", "oci:layout", "docker-archive:new/a.tar"], 2, NO_DIRECTORY),
    (&["copy", "oci:layout", "oci:other", "--digest-file", "new/a.tar"], 2, NO_DIRECTORY),
    (&["mirror", "catalog", "--to", "oci-archive:new/a.tar"], 2, NO_DIRECTORY),
    (&["serve", "catalog", "--build-index", "new/a.tar"], 2, NO_DIRECTORY),
    (&["validate", "bundle", "--output-file", "sarif=new/a.tar"], 2, NO_DIRECTORY),
    (
        &["serve", "catalog", "-p", "foo"],
        2,
        "invalid value 'foo' for '--port <PORT>': must be between 0 and 65535\n",
    ),
    (&["preview", "--port", "99999"], 2, "must be between 0 and 65535\n"),
    (
        &["registry", "serve", "--address", "localhost:5000", "--dir", "new"],
        2,
        "expected an IP address and a port, such as 127.0.0.1:5000\n",
    ),
    (&["generate", "bundle", "--version", "1"], 2, "`1`: expected a semantic version such as 1.2.3\n"),
    (
        &["push", "image", "x.io/a:v1", "a.toml=/x", "--entrypoint", "[1]", "--to", "oci:new"],
        2,
        "expected a JSON list of strings, such as [\"/manager\", \"run\"]\n",
    ),
    (&["catalog", "prune", "catalog", "--keep", "p@>=x"], 2, "invalid range `>=x`: invalid version `x`\n"),
    (&["catalog", "prune", "catalog", "--keep", "p"], 2, PACKAGES),
    (&["catalog", "list", "channels", "catalog", "p"], 2, PACKAGES),
    (&["catalog", "graph", "catalog", "--package", "p"], 2, PACKAGES),
    (&["catalog", "convert-template", "basic", "catalog", "--package", "p"], 2, PACKAGES),
    (
        &["mirror", "catalog", "--keep", "p", "--to", "oci:new"],
        2,
        "error: package `p` is not in the catalog: the packages are `gizmo-operator`\n",
    ),
    (
        &["catalog", "graph", "catalog", "--channel", "nope"],
        2,
        "error: channel `nope` is not in the catalog: its channels are ",
    ),
    (&["catalog", "graph", "empty"], 0, "warning: empty contains no packages, channels or bundles\n"),
    (
        &["catalog", "list", "bundles", "empty"],
        0,
        "warning: empty contains no packages, channels or bundles\n",
    ),
    (&["catalog", "validate", "bundle"], 2, "1 catalog, 1 could not be read: 0 errors, 0 warnings\n"),
    (&["catalog", "graph", "bundle"], 2, "error: bundle is a bundle, expected a file-based catalog: "),
    (&["catalog", "template", "a.yaml"], 2, "error: a.yaml:1:1: missing required field `schema`\n"),
    (&["catalog", "template", "b.yaml"], 2, "error: b.yaml:2:24: generateMajorChannels: "),
    (&["mirror", "--imageset-config", "c.yaml", "--to", "oci:new"], 2, "error: c.yaml:1:5: "),
    (&["render", "./new"], 2, "error: failed to render ./new: no such file or directory\n"),
    (&["fix", "new"], 2, "error: failed to fix new: no such file or directory\n"),
];

const NO_DIRECTORY: &str = " failed to write new/a.tar: the directory new does not exist\n";
const PACKAGES: &str = "package `p` is not in the catalog: its packages are `gizmo-operator`\n";

#[test]
fn messages_are_in_the_terms_of_the_user() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    bundle_and_catalog(dir.path());
    keys(dir.path());
    fs::create_dir(at("empty")).unwrap();
    let stored = run(dir.path(), &["push", "bundle", "bundle", "x.io/a:v1", "--to", "oci:layout"]);
    assert_eq!(stored.status, Some(0), "{}", stored.printed());
    for (file, text) in [
        ("a.toml", "a = 1\n"),
        ("b.toml", "b = 1\n"),
        ("a.yaml", "entries: []\n"),
        ("b.yaml", "schema: olm.semver\ngenerateMajorChannels: 5\n"),
        ("c.yaml", "a: b: c\n"),
    ] {
        fs::write(at(file), text).unwrap();
    }
    let mut wrong = Vec::new();
    for (arguments, status, says) in MESSAGES {
        let output = run(dir.path(), arguments);
        let said = output.printed();
        if output.status != Some(*status) || !said.contains(says) {
            wrong.push(format!("{arguments:?}\n  {:?}: {said}\n  {says}\n", output.status));
        }
        assert!(!at("new").exists() && !at("other").exists(), "{arguments:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn standard_input_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, input, says) in [
        (
            &["validate", "-"][..],
            "hello\n",
            "found a string\n--> standard input:1:1\n\nstandard input: 0 packages",
        ),
        (&["validate", "-"], "a: 1\n", "--> standard input:1:1\n = help: set `schema`\n"),
        (&["catalog", "graph", "-"], "a: b: c\n", "error: standard input:1:5: "),
        (&["catalog", "list", "packages", "-"], "a: b: c\n", "error: standard input:1:5: "),
        (&["catalog", "template", "-"], "a: b: c\n", "error: standard input:1:5: "),
    ] {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
        let output = command.current_dir(&dir).args(arguments).write_stdin(input).output().unwrap();
        let said = format!("{}{}", utf8(&output.stdout), utf8(&output.stderr));
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}

#[test]
fn times_that_are_no_numbers_are_rejected_in_plain_words() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("program"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    command.current_dir(&dir).env("SOURCE_DATE_EPOCH", "foo");
    let output =
        command.args(["push", "image", "x.io/a:v1", "program=/a", "--to", "oci:new"]).output().unwrap();
    let said = utf8(&output.stderr);
    assert!(said.ends_with("invalid SOURCE_DATE_EPOCH `foo`: expected seconds since 1970\n"), "{said}");
}

#[test]
fn unknown_context_of_a_kubeconfig_is_named_with_those_that_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: other\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n\
                clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]\nusers: [{name: u, user: {token: SECRET}}]\n";
    fs::write(dir.path().join("k"), text).unwrap();
    let own = ["olm", "status", "--kubeconfig", "k"];
    for (arguments, context) in [(&own[..], "other"), (&[&own[..], &["--context", "nope"]].concat(), "nope")]
    {
        let output = run(dir.path(), arguments);
        let expected = format!("error: kubeconfig k has no context `{context}`: its contexts are `c`\n");
        assert_eq!((output.status, output.stderr), (Some(2), expected));
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
fn compressed_files_and_images_are_told_from_what_is_expected() {
    let dir = tempfile::tempdir().unwrap();
    bundle_and_catalog(dir.path());
    let push = ["push", "bundle", "bundle", "registry.example.com/gizmo-bundle:v1", "--to"];
    for to in ["oci:layout", "oci-archive:image.tar"] {
        assert_eq!(run(dir.path(), &[&push[..], &[to]].concat()).status, Some(0));
    }
    for (name, magic) in [("a.gz", &[0x1f, 0x8b, 8, 0][..]), ("a.zst", &[0x28, 0xb5, 0x2f, 0xfd, 4, 0])] {
        fs::write(dir.path().join(name), magic).unwrap();
        for command in READS_CATALOG.iter().copied().chain([&["render", "INPUT"][..], &["validate", "INPUT"]])
        {
            // Changes are made to directories.
            if matches!(command[1], "prune" | "deprecate" | "add") {
                continue;
            }
            let arguments: Vec<&str> =
                command.iter().map(|word| if *word == "INPUT" { name } else { word }).collect();
            let said = run(dir.path(), &arguments).stderr;
            assert!(
                said.contains(&format!("{name} is compressed: decompress it first")),
                "{arguments:?}: {said}"
            );
        }
    }
    for name in ["layout", "oci:layout", "image.tar"] {
        let output = run(dir.path(), &["fix", name]);
        let expected = format!(
            "error: cannot fix {name}: an image cannot be changed; fix the directory that it was built from, and push that\n"
        );
        assert_eq!((output.status, output.stderr), (Some(2), expected));
    }
}

/// Commands that fail without a network or a cluster: each command of the reference but those of `CANNOT_FAIL`.
const FAILING: &[&str] = &[
    "attest provenance nowhere",
    "attest sbom nowhere",
    "attest sign nowhere --key nowhere",
    "auth explain a/B",
    "catalog add catalog bundle --image quay.io/example/gizmo-bundle:v1",
    "catalog convert-template basic nowhere",
    "catalog convert-template substitutes nowhere",
    "catalog deprecate nowhere --package gizmo --bundle a --message old",
    "catalog diff nowhere file",
    "catalog explain-upgrade nowhere --package gizmo --installed 1.0.0",
    "catalog graph nowhere",
    "catalog list bundles nowhere",
    "catalog list channels nowhere",
    "catalog list images nowhere",
    "catalog list packages nowhere",
    "catalog migrate nowhere",
    "catalog prune nowhere --keep gizmo",
    "catalog size nowhere",
    "catalog template nowhere",
    "catalog validate nowhere",
    "cleanup gizmo --kubeconfig kubeconfig",
    "completions nosuch",
    "copy 127.0.0.1:1/gizmo:v1 oci:new --plain-http",
    "copy oci:nowhere oci:new",
    "create api --group a --version v1 --kind Gizmo",
    "create webhook --group a --version v1 --kind Gizmo --defaulting",
    "diff bundle nowhere",
    "doctor --kubeconfig kubeconfig",
    "doctor --must-gather nowhere",
    "edit --multigroup",
    "explain nowhere",
    "fix bundle",
    "fix nowhere",
    "generate bundle --input-dir nowhere --package gizmo --version 1.0.0",
    "generate manifests --input-dir nowhere --package gizmo",
    "generate submission file --bundle bundle",
    "init --from nowhere",
    "inspect 127.0.0.1:1/gizmo:v1",
    "inspect 127.0.0.1:1/gizmo:v1 --plain-http",
    "login 127.0.0.1:1 --username ada --password-stdin --plain-http",
    "logout 127.0.0.1:1",
    "man file",
    "migrate-project nowhere",
    "mirror 127.0.0.1:1/catalog:v1 --to oci:new --plain-http",
    "mirror nowhere --to oci:new",
    "olm install --manifests nowhere",
    "olm migrate gizmo --kubeconfig kubeconfig",
    "olm status --kubeconfig kubeconfig",
    "olm status --kubeconfig nowhere",
    "olm uninstall --kubeconfig kubeconfig",
    "operator-sdk bundle validate nowhere",
    "operator-sdk generate bundle --input-dir nowhere",
    "operator-sdk olm status --kubeconfig kubeconfig",
    "operator-sdk scorecard nowhere",
    "opm alpha list bundles nowhere",
    "opm index add --bundles 127.0.0.1:1/gizmo:v1 --tag 127.0.0.1:1/catalog:v1",
    "opm render nowhere",
    "opm serve nowhere",
    "opm validate nowhere",
    "preview nowhere --page nowhere",
    "push bundle bundle 127.0.0.1:1/gizmo-bundle:v1 --plain-http",
    "push catalog nowhere 127.0.0.1:1/catalog:v1",
    "push image 127.0.0.1:1/gizmo:v1 nowhere=/gizmo",
    "registry gc --dir nowhere",
    "registry serve --dir file",
    "render nowhere",
    "render manifests nowhere",
    "rules --output-dir file",
    "run bundle bundle --kubeconfig kubeconfig",
    "run bundle-upgrade 127.0.0.1:1/gizmo-bundle:v1 --kubeconfig kubeconfig",
    "scorecard nowhere",
    "serve nowhere",
    "support nowhere",
    "test upgrade nowhere bundle --kubeconfig kubeconfig",
    "update --project-dir nowhere",
    "validate bundle",
    "validate nowhere",
    "validate oci-archive:bundle",
    "verify 127.0.0.1:1/gizmo:v1 --key nowhere",
    "verify oci:nowhere --key file",
];

/// The language server, which answers with messages of its protocol.
const CANNOT_FAIL: &[&str] = &["lsp"];

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
    fs::write(dir.path().join("file"), "x").unwrap();
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    let pages =
        fs::read_dir(&reference).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap());
    let pages: Vec<String> = pages.filter_map(|page| Some(page.strip_suffix(".md")?.to_owned())).collect();
    let others = ["README", "bundle-tool", "environment", "exit-codes", "settings"];
    for page in &pages {
        let is_group = fs::read_to_string(reference.join(page).with_extension("md"))
            .unwrap()
            .contains("\n## Commands\n");
        let is_tried = FAILING.iter().any(|line| line.replace(' ', "-").starts_with(&format!("{page}-")));
        assert!(
            is_group || is_tried || CANNOT_FAIL.contains(&page.as_str()) || others.contains(&page.as_str()),
            "no failing command line for `{page}`"
        );
    }
    for line in FAILING {
        let command: Vec<&str> = line.split(' ').collect();
        let output = run(dir.path(), &command);
        let said = output.printed();
        assert!(matches!(output.status, Some(1 | 2)), "{line}: {said}");
        for internal in INTERNAL {
            assert!(!said.contains(internal), "{line} says `{internal}`: {said}");
        }
    }
}

/// What only a program's own types print, or the libraries below it.
const INTERNAL: &[&str] = &[
    "os error",
    "client error",
    "error trying to connect",
    "Error {",
    "Error(",
    "Os {",
    "Custom {",
    "Some(",
    "kind:",
    "panicked",
    "/tmp/.tmp",
];
