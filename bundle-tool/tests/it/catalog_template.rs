//! `bundle-tool catalog template`: the examples of opm's documentation, free channel names, and what is refused.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use olm_model::disk::catalog;
use serde_json::{Value, json};

use crate::support::{Run, run};

const SEMVER: &str = include_str!("../fixtures/template/semver.yaml");
const MAJOR: &str = include_str!("../fixtures/template/semver-major.yaml");
const MINOR: &str = include_str!("../fixtures/template/semver-minor.yaml");

fn tool(directory: &Path, arguments: &[&str]) -> Run {
    run(directory, &[&["catalog", "template"], arguments].concat())
}

/// A catalog with the bundles of the images that the example names.
fn bundles(directory: &Path) {
    let mut text = String::new();
    let versions =
        ["0.1.0", "0.1.1", "0.1.2", "0.1.3", "0.2.0", "0.2.1", "0.2.2", "0.3.0", "1.0.0", "1.0.1", "1.1.0"];
    for version in versions {
        writeln!(
            text,
            "---\nschema: olm.bundle\nname: testoperator.v{version}\npackage: testoperator\n\
             image: quay.io/foo/olm:testoperator.v{version}\nproperties:\n- type: olm.package\n  \
             value: {{packageName: testoperator, version: {version}}}"
        )
        .unwrap();
    }
    fs::write(directory.join("bundles.yaml"), text).unwrap();
}

/// The blobs of a text, without bundles.
fn blobs(directory: &Path, text: &str) -> Vec<Value> {
    let path = directory.join("read.yaml");
    fs::write(&path, text).unwrap();
    let found = catalog::read(&path).unwrap();
    let packages = found.packages.iter().map(|blob| json!(blob));
    packages.chain(found.channels.iter().map(|blob| json!(blob))).collect()
}

fn semver(directory: &Path, template: &str) -> Run {
    fs::write(directory.join("template.yaml"), template).unwrap();
    tool(directory, &["semver", "template.yaml", "--bundles-from", "bundles.yaml", "-o", "yaml"])
}

#[test]
fn the_semver_template_makes_the_channels_of_opms_documentation() {
    let dir = tempfile::tempdir().unwrap();
    bundles(dir.path());
    for (removed, expected) in
        [("GenerateMinorChannels: true\n", MAJOR), ("GenerateMajorChannels: true\n", MINOR)]
    {
        let output = semver(dir.path(), &SEMVER.replace(removed, ""));
        assert_eq!(output.status, Some(0), "{}", output.stderr);
        let text = output.stdout;
        assert_eq!(blobs(dir.path(), &text), blobs(dir.path(), expected));
        assert_eq!(text.matches("schema: olm.bundle\n").count(), 11);
    }
    // With both, the channels of both, and the default is of the preferred type.
    for (preference, default) in [
        ("", "stable-v1.0"),
        ("DefaultChannelTypePreference: major\n", "stable-v1"),
        ("defaultchanneltypepreference: minor\n", "stable-v1.0"),
    ] {
        let output = semver(dir.path(), &format!("{preference}{SEMVER}"));
        let found = blobs(dir.path(), &output.stdout);
        assert_eq!(found[0]["defaultChannel"], default);
        assert_eq!(found.len(), 1 + 5 + 10);
    }
}

#[test]
fn channels_may_have_any_name_and_cross_major_versions() {
    let dir = tempfile::tempdir().unwrap();
    bundles(dir.path());
    let image = |version: &str| format!("  - image: quay.io/foo/olm:testoperator.v{version}\n");
    let template = format!(
        "schema: olm.semver\ngeneratePlainChannels: true\nchannels:\n- name: preview\n  bundles:\n{}{}{}{}- name: eus\n  bundles:\n{}",
        image("0.2.2"),
        image("0.2.1"),
        image("1.0.0"),
        image("1.0.1"),
        image("1.0.0")
    );
    let output = semver(dir.path(), &template);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let found = blobs(dir.path(), &output.stdout);
    assert_eq!(found[0]["defaultChannel"], "eus");
    let channels: Vec<_> = found[1..].iter().map(|channel| channel["name"].clone()).collect();
    assert_eq!(channels, ["eus", "preview"]);
    assert_eq!(
        found[2]["entries"],
        json!([
            {"name": "testoperator.v0.2.1"},
            {"name": "testoperator.v0.2.2", "skips": ["testoperator.v0.2.1"]},
            {"name": "testoperator.v1.0.0"},
            {"name": "testoperator.v1.0.1", "replaces": "testoperator.v0.2.2",
             "skips": ["testoperator.v0.2.1", "testoperator.v1.0.0"]},
        ])
    );
}

#[test]
fn basic_and_substitutes_templates_keep_their_other_blobs() {
    let dir = tempfile::tempdir().unwrap();
    bundles(dir.path());
    let head = "schema: olm.template.basic\nentries:\n- schema: olm.package\n  name: testoperator\n  defaultChannel: stable\n- schema: olm.channel\n  package: testoperator\n  name: stable\n  entries:\n  - name: testoperator.v1.0.0\n  - name: testoperator.v1.0.1\n    replaces: testoperator.v1.0.0\n- schema: vendor.note\n  text: kept\n";
    let basic = format!(
        "{head}- schema: olm.bundle\n  image: quay.io/foo/olm:testoperator.v1.0.0\n- Schema: olm.bundle\n  Image: quay.io/foo/olm:testoperator.v1.0.1\n"
    );
    fs::write(dir.path().join("basic.yaml"), &basic).unwrap();
    let output = tool(dir.path(), &["basic.yaml", "--bundles-from", "bundles.yaml", "-o", "yaml"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let text = output.stdout;
    assert!(text.contains("text: kept") && text.matches("version: 1.0.").count() == 2, "{text}");
    // A catalog is a substitutes template with entries of full blobs.
    let found = blobs(dir.path(), &text);
    let all = catalog::read(&dir.path().join("read.yaml")).unwrap();
    let entries: Vec<Value> =
        found.into_iter().chain(all.bundles.iter().map(|bundle| json!(bundle))).collect();
    let template = json!({
        "schema": "olm.template.substitutes",
        "entries": entries,
        "substitutions": [{"name": "quay.io/foo/olm:testoperator.v1.1.0", "base": "testoperator.v1.0.0"}],
    });
    fs::write(dir.path().join("s.json"), template.to_string()).unwrap();
    let output = tool(dir.path(), &["substitutes", "s.json", "--bundles-from", "bundles.yaml"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let found = blobs(dir.path(), &output.stdout);
    assert_eq!(
        found[1]["entries"],
        json!([
            {"name": "testoperator.v1.0.0"},
            {"name": "testoperator.v1.0.1", "replaces": "testoperator.v1.1.0", "skips": ["testoperator.v1.0.0"]},
            {"name": "testoperator.v1.1.0", "skips": ["testoperator.v1.0.0"]},
        ])
    );
}

#[test]
fn bundles_may_be_directories() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundle");
    fs::write(
        dir.path().join("t.yaml"),
        "schema: olm.semver\nstable:\n  bundles:\n  - image: quay.io/a/b:v1\n",
    )
    .unwrap();
    let given = format!("quay.io/a/b:v1={bundle}");
    let output = tool(dir.path(), &["t.yaml", "--bundle", &given]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let found = blobs(dir.path(), &output.stdout);
    assert_eq!(found[0]["name"], "gizmo-operator");
    let fields: BTreeSet<&str> = found[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert!(fields.contains("description"), "{fields:?}");
}

#[test]
fn a_rebuild_from_the_last_catalog_has_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundle");
    let template = "schema: olm.semver\nstable:\n  bundles:\n  - image: quay.io/a/b:v1\n";
    fs::write(dir.path().join("t.yaml"), template).unwrap();
    let given = format!("quay.io/a/b:v1={bundle}");
    for migrate in ["none", "all"] {
        let arguments = ["t.yaml", "-o", "yaml", "--migrate-level", migrate];
        let first = tool(dir.path(), &[&arguments[..], &["--bundle", &given]].concat());
        assert_eq!(first.status, Some(0), "{}", first.stderr);
        assert!(first.stdout.contains("\nicon:\n") && first.stdout.contains("\ndescription: "));
        fs::write(dir.path().join("last.yaml"), &first.stdout).unwrap();
        let again = tool(dir.path(), &[&arguments[..], &["--bundles-from", "last.yaml"]].concat());
        assert_eq!(again.status, Some(0), "{}", again.stderr);
        assert_eq!(again.stdout, first.stdout, "{migrate}");
    }
}

#[test]
fn an_invalid_template_is_an_error_that_names_the_defect() {
    let dir = tempfile::tempdir().unwrap();
    bundles(dir.path());
    let image = "\n  - image: quay.io/foo/olm:testoperator.v1.0.0";
    for (template, message) in [
        ("schema: olm.composite\n".to_owned(), "expected schema `olm.semver`, found `olm.composite`"),
        (String::new(), "the template is empty"),
        ("a: [".to_owned(), "template.yaml:1:4:"),
        ("schema: olm.semver\nstabel: {}\n".to_owned(), "2:1: unknown field `stabel`"),
        ("schema: olm.semver\nstable: 1\n".to_owned(), "stable: expected"),
        ("schema: olm.semver\n".to_owned(), "the template contains no bundles"),
        ("schema: olm.semver\ndefaultChannelTypePreference: major\n".to_owned(), "not generated"),
        (
            format!("schema: olm.semver\nstable:\n  bundles:{image}{image}\n"),
            "channel `stable` has bundle `testoperator.v1.0.0` twice",
        ),
        (
            format!("schema: olm.semver\nstable:\n  bundles:{image}\nchannels:\n- name: a\n"),
            "`channels` cannot be combined",
        ),
        (
            format!("schema: olm.semver\nchannels:\n- name: a b\n  bundles:{image}\n"),
            "invalid channel name `a b`",
        ),
        (
            "schema: olm.semver\nstable:\n  bundles:\n  - image: nowhere/x\n".to_owned(),
            "failed to render nowhere/x",
        ),
    ] {
        let output = semver(dir.path(), &template);
        assert_eq!(output.status, Some(2), "{template}");
        assert!(output.stderr.contains(message) && output.stdout.is_empty(), "{template}: {}", output.stderr);
    }
}

#[test]
fn entries_must_be_a_list_and_images_must_be_in_a_registry() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundle");
    let basic = |entries: &str| {
        fs::write(dir.path().join("t.yaml"), format!("schema: olm.template.basic\nentries: {entries}\n"))
            .unwrap();
        tool(dir.path(), &["t.yaml"])
    };
    for entries in ["abc", "{}", "1"] {
        let output = basic(entries);
        assert_eq!(output.status, Some(2), "{}", output.stderr);
        assert!(output.stderr.contains("2:10: entries: expected a list"), "{}", output.stderr);
    }
    // As opm.
    assert_eq!(basic("null").status, Some(0));
    for image in [bundle.to_owned(), format!("oci:{bundle}"), "gizmo:v1".to_owned()] {
        let output = basic(&format!("[{{schema: olm.bundle, image: '{image}'}}]"));
        assert_eq!(output.status, Some(2), "{}", output.stdout);
        let expected = format!("invalid image `{image}`: expected the name of an image in a registry");
        assert!(output.stderr.contains(&expected), "{}", output.stderr);
    }
}
