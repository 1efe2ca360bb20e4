//! `bundle-tool generate manifests` and `generate submission` as a user runs them.
use std::fs;
use std::process::Command;

use crate::project::{Project, stderr};

const CARGO: &str = r#"[package]
name = "lake-operator"
version = "0.1.0"
description = "Digs lakes"
authors = ["Ada <ada@example.com>"]
repository = "https://example.com/lake"

[package.metadata.olm]
display-name = "Lake Operator"
icon = "icon.svg"
categories = ["Storage"]
provider = { name = "Example" }
scorecard = true
dependencies = [{ type = "olm.package", value = { packageName = "water", version = ">=1.0.0" } }]
"#;
const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lakes.example.com}
spec:
  group: example.com
  names: {kind: Lake, plural: lakes}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A lake.
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer, description: How many.}
              frozen: {type: boolean, title: Frozen over}
";
const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: lake-operator}
spec:
  selector: {matchLabels: {app: lake}}
  template:
    metadata: {labels: {app: lake}}
    spec: {containers: [{name: manager, image: 'quay.io/example/lake:v1'}]}
";
/// When the tests run, in seconds since 1970.
const NOW: &str = "1700000000";
const BASE: &str = "config/manifests/bases/lake-operator.clusterserviceversion.yaml";

fn lake() -> Project {
    let files = [
        ("Cargo.toml", CARGO),
        ("icon.svg", "<svg/>"),
        ("config/crd/bases/lakes.yaml", CRD),
        ("deploy/deployment.yaml", DEPLOYMENT),
    ];
    Project::new(&["generate"], &files)
}

#[test]
fn the_base_is_made_from_the_crate_and_the_schemas() {
    let project = lake();
    project.run_at(NOW, &["manifests"]).success();
    let base = project.read(BASE);
    for part in [
        "displayName: Lake Operator\n",
        "categories: Storage\n",
        "- base64data: PHN2Zy8+\n    mediatype: image/svg+xml\n",
        "- email: ada@example.com\n    name: Ada\n",
        "- displayName: Frozen over\n        path: frozen\n        x-descriptors:\n        - urn:alm:descriptor:com.tectonic.ui:booleanSwitch\n",
        "urn:alm:descriptor:com.tectonic.ui:podCount\n",
    ] {
        assert!(base.contains(part), "{part:?} is not in\n{base}");
    }
    project.run_at(NOW, &["manifests", "--check"]).success();
}

#[test]
fn a_persons_words_and_comments_stay_while_the_rest_follows() {
    let project = lake();
    project.run_at(NOW, &["manifests"]).success();
    let mine = project
        .read(BASE)
        .replace("  displayName: Lake Operator\n", "  # As marketing wants it.\n  displayName: Lakes!\n")
        .replace("        displayName: Replicas\n", "        displayName: Number of lakes # not pods\n");
    assert!(mine.contains("Lakes!") && mine.contains("# not pods"), "{mine}");
    project.write(BASE, &mine);
    project.write(
        "Cargo.toml",
        &CARGO
            .replace("[\"Storage\"]", "[\"Storage\", \"Networking\"]")
            .replace("\"Lake Operator\"", "\"Other\""),
    );
    project.write("config/crd/bases/lakes.yaml", &CRD.replace("How many.", "How many lakes."));
    project.run_at(NOW, &["manifests", "--check"]).code(1);
    project.run_at(NOW, &["manifests"]).success();
    let wanted = mine
        .replace("categories: Storage\n", "categories: Storage, Networking\n")
        .replace("description: How many.\n", "description: How many lakes.\n");
    assert_eq!(project.read(BASE), wanted);
    project.run_at(NOW, &["manifests", "--check"]).success();
}

#[test]
fn overrides_are_put_over_what_is_generated() {
    let project = lake();
    project.write(
        "config/manifests/overrides.yaml",
        "spec:\n  maturity: stable\n  customresourcedefinitions:\n    owned:\n    - kind: Lake\n      displayName: A lake\n",
    );
    project.run_at(NOW, &["manifests"]).success();
    let base = project.read(BASE);
    assert!(base.contains("maturity: stable\n") && base.contains("displayName: A lake\n"), "{base}");
    assert!(base.contains("podCount"), "{base}");
}

#[test]
fn nothing_is_asked_unless_a_person_wants_it() {
    let project = lake();
    project.write("Cargo.toml", "[package]\nname = \"lake-operator\"\nversion = \"0.1.0\"\n");
    let run = project
        .tool()
        .args(["generate", "manifests", "--interactive"])
        .write_stdin("Lakes\n\nExample\nwater, depth\nAda <ada@example.com>\n")
        .assert()
        .success();
    assert!(stderr(&run).contains("Provider: "));
    let base = project.read(BASE);
    assert!(base.contains("displayName: Lakes\n") && base.contains("  - water\n  - depth\n"), "{base}");
}

#[test]
fn bad_input_is_named() {
    for (file, text, arguments, message) in [
        ("Cargo.toml", "[package\n", &["manifests"][..], "Cargo.toml"),
        ("Cargo.toml", "[workspace]\n", &["manifests"], "has no [package]"),
        ("icon.svg", "<svg/>", &["manifests", "--overrides", "none.yaml"], "none.yaml does not exist"),
        ("config/crd/bases/x.yaml", "a: [\n", &["manifests"], "config/crd/bases/x.yaml:1:4: invalid YAML"),
        ("x", "", &["manifests", "--package", "../x"], "invalid package name `../x`"),
        ("x", "", &["submission", "none"], "none is not a directory"),
        (
            "x",
            "",
            &["submission", "."],
            ". is not a clone of a catalog repository: it has no operators directory",
        ),
    ] {
        let project = lake();
        if file != "x" {
            project.write(file, text);
        }
        let arguments: Vec<&str> = arguments.to_vec();
        let _ = fs::remove_dir_all(project.path("bundle"));
        let error = stderr(&project.run_at(NOW, &arguments).code(2));
        assert!(error.contains(message), "{message:?} is not in {error}");
        assert!(!project.path("config/manifests/bases").exists());
    }
}

#[test]
fn a_bundle_becomes_a_submission() {
    let project = lake();
    project.run_at(NOW, &["manifests"]).success();
    let bundle = [
        "bundle",
        "--input-dir",
        "deploy",
        "--version",
        "0.1.0",
        "--channels",
        "stable",
        "--default-channel",
        "stable",
    ];
    project.run_at(NOW, &bundle).success();
    assert!(project.read("bundle/metadata/dependencies.yaml").contains("packageName: water"));
    assert!(project.read("bundle/tests/scorecard/config.yaml").contains("basic-check-spec"));
    assert!(
        project
            .read("bundle/manifests/lake-operator.clusterserviceversion.yaml")
            .contains("containerImage: quay.io/example/lake:v1\n")
    );

    fs::create_dir_all(project.path("hub/operators")).unwrap();
    project.run_at(NOW, &["submission", "hub", "--reviewers", "ada,bob"]).success();
    let ci = "hub/operators/lake-operator/ci.yaml";
    assert_eq!(project.read(ci), "reviewers:\n- ada\n- bob\nupdateGraph: replaces-mode\n");
    assert!(project.path("hub/operators/lake-operator/0.1.0/manifests").is_dir());
    assert!(project.path("hub/operators/lake-operator/0.1.0/metadata/annotations.yaml").is_file());

    // What is there stays, and a published version does not change.
    project.write(ci, "# ours\nreviewers:\n- ada # lead\n");
    project.run_at(NOW, &["submission", "hub", "--reviewers", "eve", "--overwrite"]).success();
    let text = project.read(ci);
    assert!(text.starts_with("# ours\nreviewers:\n- ada # lead\n- eve\n"), "{text}");
    project.run_at(NOW, &["submission", "hub"]).success();
    project.run_at(NOW, &[&bundle[..], &["--replaces", "0.0.9"]].concat()).success();
    assert!(stderr(&project.run_at(NOW, &["submission", "hub"]).code(2)).contains("already exists"));

    let pipeline = ["submission", "hub", "--update-graph", "semver-mode", "--overwrite"];
    project.run_at(NOW, &pipeline).success();
    assert!(project.read(ci).contains("updateGraph: semver-mode\n"), "an existing ci.yaml was not updated");
    project.run_at(NOW, &["submission", "hub", "--overwrite"]).success();
    assert!(project.read(ci).contains("updateGraph: semver-mode\n"), "a default replaced what ci.yaml said");

    project.run_at(NOW, &["submission", "hub", "--catalogs", "v4.19,v4.20", "--overwrite"]).success();
    let release = project.read("hub/operators/lake-operator/0.1.0/release-config.yaml");
    assert_eq!(
        release,
        "catalog_templates:\n- channels:\n  - stable\n  defaultChannel: stable\n  replaces: lake-operator.v0.0.9\n  template_name: basic.yaml\n"
    );
    let text = project.read(ci);
    assert!(text.contains("  catalog_mapping:\n  - catalog_names:\n    - v4.19\n    - v4.20\n"), "{text}");
    let template = project.read("hub/operators/lake-operator/catalog-templates/basic.yaml");
    assert!(template.contains("- defaultChannel: stable\n"), "{template}");
    // The pipeline accepts these files.
    let output = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(["validate", "-o", "json", "--suite", "community"])
        .arg(project.path("hub"))
        .output()
        .unwrap();
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(found.contains("\"rule\"") && !found.contains("\"community-release-config-"), "{found}");
    assert!(!found.contains("\"community-ci-"), "{found}");
}

#[test]
fn submission_keeps_existing_mappings_and_checks_names() {
    let project = lake();
    project.run_at(NOW, &["manifests"]).success();
    let bundle = ["bundle", "--input-dir", "deploy", "--version", "0.1.0", "--channels", "stable"];
    project.run_at(NOW, &bundle).success();
    let ci = "hub/operators/lake-operator/ci.yaml";
    fs::create_dir_all(project.path("hub/operators/lake-operator")).unwrap();
    let text = "fbc:\n  enabled: true\n  catalog_mapping:\n    - template_name: b.yaml # ours\n      catalog_names: [v4.18]\n      \
                type: olm.template.basic\nreviewers: []\n";
    project.write(ci, text);
    let said = stderr(&project.run_at(NOW, &["submission", "hub"]).success());
    assert!(said.contains("warning: ci.yaml enables file-based catalogs, so without"), "{said}");
    assert!(said.contains("warning: reviewers in ci.yaml is empty"), "{said}");
    assert_eq!(project.read(ci), text);

    let lists = ["--catalogs", "v4.19, v4.18,", "--reviewers", "ada, bob,,ada"];
    project.run_at(NOW, &[&["submission", "hub", "--overwrite"][..], &lists].concat()).success();
    let text = project.read(ci);
    assert!(text.contains("template_name: b.yaml # ours\n"), "{text}");
    assert!(text.contains("v4.18") && text.contains("v4.19") && !text.contains("basic.yaml"), "{text}");
    assert!(text.contains("ada") && text.contains("bob") && !text.contains("' "), "{text}");
    let release = project.read("hub/operators/lake-operator/0.1.0/release-config.yaml");
    assert!(release.contains("template_name: b.yaml\n"), "{release}");
    assert!(project.path("hub/operators/lake-operator/catalog-templates/b.yaml").is_file());

    for (option, value, message) in [
        ("--reviewers", "@ada", "invalid reviewer `@ada`: expected a GitHub user name"),
        ("--reviewers", "Not A User", "invalid reviewer `Not A User`"),
        ("--catalogs", "a b", "invalid catalog `a b`"),
        ("--catalogs", ",", "the list has no catalog"),
    ] {
        let error = stderr(&project.run_at(NOW, &["submission", "hub", option, value]).code(2));
        assert!(error.contains(message), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn submission_does_not_follow_links_out_of_the_clone() {
    let project = lake();
    project.run_at(NOW, &["manifests"]).success();
    let bundle = ["bundle", "--input-dir", "deploy", "--version", "0.1.0", "--channels", "stable"];
    project.run_at(NOW, &bundle).success();
    for link in ["hub/operators/lake-operator", "hub/operators/lake-operator/0.1.0"] {
        let _ = fs::remove_dir_all(project.path("hub"));
        fs::create_dir_all(project.path(link).parent().unwrap()).unwrap();
        fs::create_dir_all(project.path("elsewhere")).unwrap();
        std::os::unix::fs::symlink(project.path("elsewhere"), project.path(link)).unwrap();
        let error = stderr(&project.run_at(NOW, &["submission", "hub", "--reviewers", "ada"]).code(2));
        assert!(error.contains(&format!("{link} is a symbolic link; replace it")), "{error}");
        assert_eq!(fs::read_dir(project.path("elsewhere")).unwrap().count(), 0);
    }
}

#[test]
fn missing_crds_are_reported_with_where_they_were_looked_for() {
    let project = lake();
    project.write("empty/readme.txt", "");
    for (arguments, directory) in
        [(&["manifests", "--crds-dir", "empty"][..], "empty"), (&["manifests"], "config/crd/bases")]
    {
        let _ = fs::remove_dir_all(project.path("config/crd"));
        let error = stderr(&project.run_at(NOW, arguments).success());
        let wanted = format!("warning: no CRDs found in {directory}, so the base owns none; set --crds-dir");
        assert!(error.contains(&wanted), "{error}");
    }
}
