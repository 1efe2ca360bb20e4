//! `bundle-tool catalog validate`: one catalog for each rule, and everything that a directory may contain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use olm_model::report::Suite;
use serde_json::{Value, json};

const VALID: &str = include_str!("../fixtures/catalog/valid.yaml");

/// A replacement in the valid catalog that breaks one rule.
struct Case {
    rule: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn case(rule: &'static str, from: &'static str, to: &'static str) -> Case {
    Case { rule, from, to }
}

/// The end of the document of the first bundle.
const END: &str = "---\nschema: olm.bundle\nname: gizmo.v1.1.0\n";

static CASES: &[Case] = &[
    case("bundle-build-and-release", "version: 1.0.0}", "version: 1.0.0+5, release: '1'}"),
    case("bundle-duplicate", "name: gizmo.v1.2.0\npackage", "name: gizmo.v1.1.0\npackage"),
    case("bundle-image-invalid", "gizmo-bundle:v1.0.0", "Gizmo-bundle:v1.0.0"),
    case(
        "bundle-image-invalid",
        "image: quay.io/example/gizmo:v1.0.0",
        "image: https://quay.io/example/gizmo",
    ),
    case("bundle-image-missing", "image: quay.io/example/gizmo-bundle:v1.0.0\n", ""),
    case("bundle-name-not-normalized", "version: 1.0.0}", "version: 1.0.0, release: alpha.1}"),
    case("bundle-not-in-channel", "- name: gizmo.v1.0.0\n", ""),
    case(
        "bundle-object-invalid",
        "image: quay.io/example/gizmo-bundle:v1.0.0\nproperties:",
        "properties:\n- {type: olm.bundle.object, value: {data: YTogW2I=}}",
    ),
    case(
        "bundle-package-mismatch",
        "packageName: gizmo, version: 1.0.0",
        "packageName: gadget, version: 1.0.0",
    ),
    case(
        "bundle-package-property-count",
        "type: olm.package\n  value: {packageName: gizmo, version: 1.0.0",
        "type: olm.packages\n  value: {packageName: gizmo, version: 1.0.0",
    ),
    case("bundle-property-invalid", "kind: Gizmo, version: v1}", "kind: Gizmo, version: 1}"),
    case("bundle-property-invalid", "  value: {group: gadgets.example.com, kind: Gizmo, version: v1}\n", ""),
    case("bundle-release-invalid", "version: 1.0.0}", "version: 1.0.0, release: '01'}"),
    case("bundle-version-duplicate", "version: 1.2.0}", "version: 1.1.0}"),
    case("bundle-version-invalid", "version: 1.0.0}", "version: v1.0.0}"),
    case("catalog-field-invalid", "iVBORw0KGgo=", "iVBORw0KGgo!"),
    case("catalog-field-invalid", "skips: [gizmo.v0.9.0]", "skips: gizmo.v0.9.0"),
    case("catalog-file-invalid", "entries:\n- name: gizmo.v1.0.0", "entries: [\n- name: gizmo.v1.0.0"),
    case("catalog-file-invalid", END, "--- bundle\nschema: olm.bundle\nname: gizmo.v1.1.0\n"),
    case("catalog-key-duplicate", "defaultChannel: stable", "defaultChannel: stable\nDefaultChannel: stable"),
    case(
        "catalog-rest-ignored",
        "---\nschema: olm.deprecations",
        "...\nlost: true\n---\nschema: olm.deprecations",
    ),
    case("catalog-schema-unknown", "schema: vendor.note", "schema: olm.catalog.deprecation"),
    case("catalog-schema-unknown", "schema: vendor.note", "schema: olm.chanel"),
    case("catalog-schema-unknown", "schema: vendor.note", "schema: olm.template.basic"),
    case(
        "catalog-field-unknown",
        "- name: gizmo.v1.0.0\n",
        "- name: gizmo.v1.0.0\n  replace: gizmo.v0.9.0\n",
    ),
    case("catalog-field-invalid", "- name: gizmo.v1.0.0\n", "- gizmo.v1.0.0\n"),
    case("catalog-file-invalid", "schema: vendor.note", "<<<<<<< HEAD\nschema: vendor.note"),
    case("channel-head-without-metadata", "- {type: olm.csv.metadata, value: {}}\n", ""),
    case("catalog-schema-missing", "schema: olm.deprecations\n", ""),
    case("catalog-schema-missing", END, "---\n# no document\n---\nschema: olm.bundle\nname: gizmo.v1.1.0\n"),
    case("channel-bundle-missing", "- name: gizmo.v1.0.0\n", "- name: gizmo.v1.0.0\n- name: gizmo.v0.9.0\n"),
    case("channel-cycle", "- name: gizmo.v1.0.0\n", "- name: gizmo.v1.0.0\n  replaces: gizmo.v1.1.0\n"),
    case("channel-duplicate", "name: fast", "name: stable"),
    case(
        "channel-empty",
        "name: fast\npackage: gizmo\nentries:\n- name: gizmo.v1.2.0\n",
        "name: fast\npackage: gizmo\n",
    ),
    case("channel-entry-duplicate", "- name: gizmo.v1.0.0\n", "- name: gizmo.v1.0.0\n- name: gizmo.v1.0.0\n"),
    case(
        "channel-entry-stranded",
        "- name: gizmo.v1.1.0\n  replaces: gizmo.v1.0.0",
        "- name: gizmo.v1.1.0\n  replaces: gizmo.v0.1.0\n- name: gizmo.v0.9.0\n  replaces: gizmo.v1.0.0",
    ),
    case(
        "channel-head-missing",
        "- name: gizmo.v1.0.0\n",
        "- name: gizmo.v1.0.0\n  replaces: gizmo.v1.2.0\n",
    ),
    case("channel-heads-several", "  replaces: gizmo.v1.1.0\n", ""),
    case("channel-name-invalid", "name: fast", "name: fast lane"),
    case("channel-name-missing", "name: fast\n", ""),
    case("channel-skip-empty", "skips: [gizmo.v0.9.0]", "skips: [gizmo.v0.9.0, '']"),
    case("channel-skip-range-invalid", "'>=1.0.0 <1.2.0'", "'>=1.0 <1.2.0'"),
    case("channel-version-decreases", "version: 1.2.0}", "version: 0.9.0}"),
    case("default-channel-missing", "defaultChannel: stable\n", ""),
    case("default-channel-unknown", "defaultChannel: stable", "defaultChannel: stabel"),
    case(
        "deprecation-duplicate",
        "{schema: olm.bundle, name: gizmo.v1.0.0}",
        "{schema: olm.channel, name: stable}",
    ),
    case("deprecation-message-missing", "  message: use fast\n", ""),
    case("deprecation-reference-invalid", "{schema: olm.package}", "{schema: olm.package, name: gizmo}"),
    case("deprecation-reference-invalid", "{schema: olm.package}", "{schema: olm.catalog}"),
    case(
        "deprecation-target-unknown",
        "{schema: olm.channel, name: stable}",
        "{schema: olm.channel, name: slow}",
    ),
    case(
        "package-channel-missing",
        "---\nschema: vendor.note",
        "---\nschema: olm.package\nname: gadget\n---\nschema: vendor.note",
    ),
    case(
        "package-duplicate",
        "---\nschema: vendor.note",
        "---\nschema: olm.package\nname: gizmo\n---\nschema: vendor.note",
    ),
    case("package-icon-invalid", "mediatype: image/png", "mediatype: image/svg+xml"),
    case(
        "catalog-package-name-invalid",
        "---\nschema: vendor.note",
        "---\nschema: olm.package\nname: Giz_mo\n---\nschema: vendor.note",
    ),
    case("package-name-missing", "schema: olm.deprecations\npackage: gizmo", "schema: olm.deprecations"),
    case("package-unknown", "name: fast\npackage: gizmo", "name: fast\npackage: gadget"),
];

fn validate(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .current_dir(directory)
        .args(["catalog", "validate"])
        .args(arguments)
        .output()
        .unwrap()
}

fn report(directory: &Path, reference: &str) -> Value {
    let output = validate(directory, &[reference, "--output", "json"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{text}"));
    let passed = report["catalogs"][0]["passed"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!passed)), "{text}");
    report["catalogs"][0].clone()
}

/// The rules of the findings with `severity`.
fn rules(report: &Value, severity: &str) -> BTreeSet<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["severity"] == severity)
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect()
}

/// The file and line, message and path of each finding.
fn findings(report: &Value) -> Vec<(String, Value)> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| (finding["file"].as_str().unwrap().to_owned(), finding["message"].clone()))
        .collect()
}

#[test]
fn the_valid_catalog_passes() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("catalog.yaml"), VALID).unwrap();
    let report = report(dir.path(), ".");
    assert_eq!(report["findings"], json!([]));
    assert_eq!(
        (&report["packages"], &report["channels"], &report["bundles"]),
        (&json!(["gizmo"]), &json!(2), &json!(3))
    );
    let output = validate(dir.path(), &["."]);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        ".: 1 package, 2 channels, 3 bundles, passed: 0 errors, 0 warnings\n"
    );
}

#[test]
fn every_rule_has_a_case_and_finds_it() {
    // An upgrade that breaks a CRD needs bundles: `upgrades_that_break_a_crd_are_found` in `diff.rs`. Objects need a version.
    let mut covered: BTreeSet<&str> = CASES.iter().map(|case| case.rule).collect();
    covered.extend(["channel-upgrade-breaks-crd", "bundle-object-obsolete"]);
    let rules: Vec<_> = olm_rules::all().filter(|rule| rule.suite == Suite::Catalog).collect();
    assert_eq!(covered, rules.iter().map(|rule| rule.id).collect());
    assert!(rules.is_sorted_by_key(|rule| rule.id));
    let mut text = String::new();
    for Case { rule, from, to } in CASES {
        assert_eq!(VALID.matches(from).count(), 1, "{rule}: {from}");
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("catalog.yaml"), VALID.replace(from, to)).unwrap();
        let output = validate(dir.path(), &["."]);
        let found = String::from_utf8(output.stdout).unwrap();
        assert!(found.contains(&format!("[{rule}]")), "{rule}: {found}");
        let severity = rules.iter().find(|known| known.id == *rule).unwrap().severity;
        let is_error = severity.to_string() == "error";
        assert_eq!(output.status.code(), Some(i32::from(is_error)), "{rule}: {found}");
        text.extend([format!("# {rule}: {from:?} → {to:?}\n"), found, "\n".to_owned()]);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("catalog-rules", text));
}

#[test]
fn objects_are_reported_where_the_version_of_openshift_requires_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let object = "- {type: olm.bundle.object, value: {data: e30=}}\n";
    let catalog = |image: &str, more: &str| {
        let image = VALID.replace("image: quay.io/example/gizmo-bundle:v1.0.0\n", image);
        image.replace("relatedImages:\n", &format!("{more}relatedImages:\n"))
    };
    let image = "image: quay.io/example/gizmo-bundle:v1.0.0\n";
    for version in ["v4.16", "v4.17", "v4.20"] {
        let path = dir.path().join("catalogs").join(version).join("gizmo");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("catalog.yaml"), catalog(image, object)).unwrap();
    }
    let found = |arguments: &[&str]| {
        let output = validate(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let rule = "[bundle-object-obsolete]";
    assert!(!found(&["catalogs/v4.16"]).contains(rule));
    for path in ["catalogs/v4.17", "catalogs/v4.20/gizmo", "catalogs/v4.20/gizmo/catalog.yaml"] {
        assert_eq!(found(&[path]).matches(rule).count(), 1, "{path}");
    }
    let of_directory = |path: &str| {
        let output = validate(&dir.path().join(path), &["."]);
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(of_directory("catalogs/v4.17/gizmo").contains(rule));
    let all = crate::support::run(dir.path(), &["validate", "catalogs/v4.17"]);
    assert!(all.stdout.contains(rule), "{}", all.stdout);
    // `validate` takes the same option for a catalog, but those of a repository are for the versions in their paths.
    let validated = |reference: &str, version: &str| {
        crate::support::run(dir.path(), &["validate", reference, "--openshift", version]).stdout
    };
    assert!(!validated("catalogs/v4.17", "4.16").contains(rule));
    assert!(validated("catalogs/v4.16", "4.16..4.17").contains(rule));
    assert_eq!(validated(".", "4.16").matches(rule).count(), 2);
    // A directory elsewhere has no version, unless one is given; the version of a path can be overridden.
    fs::write(dir.path().join("c.yaml"), catalog(image, &object.repeat(2))).unwrap();
    assert!(!found(&["c.yaml"]).contains(rule));
    assert!(!found(&["c.yaml", "--openshift", "4.16"]).contains(rule));
    assert!(!found(&["catalogs/v4.17", "--openshift", "v4.16"]).contains(rule));
    let mut text = found(&["c.yaml", "--openshift", "v4.17"]);
    // Without an image, the objects are all that there is; with metadata, they are superfluous.
    let metadata = "- {type: olm.csv.metadata, value: {}}\n";
    for catalog in [catalog("", object), catalog(image, &format!("{object}{metadata}"))] {
        fs::write(dir.path().join("c.yaml"), catalog).unwrap();
        text += &found(&["c.yaml", "--openshift", "4.17"]);
    }
    insta::assert_snapshot!(text);
    for wrong in ["4", "4.17.3", "1.30"] {
        let output = validate(dir.path(), &["c.yaml", "--openshift", wrong]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("expected one from 4.1 to "), "{wrong}");
    }
}

#[test]
fn every_file_is_read_but_for_those_that_indexignore_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join("catalog").join(name);
    for directory in ["a/.hidden", ".git"] {
        fs::create_dir_all(path(directory)).unwrap();
    }
    let documents: Vec<&str> = VALID.split("---\n").filter(|document| !document.is_empty()).collect();
    let names =
        ["package", "a/stable.txt", "a/.hidden/fast.yml", ".git/b1", "b2.YAML", "b3.json", "d.yaml~", "x"];
    assert_eq!(documents.len(), names.len());
    for (name, document) in names.iter().zip(documents) {
        fs::write(path(name), document).unwrap();
    }
    assert_eq!(report(dir.path(), "catalog")["findings"], json!([]));
    fs::write(path("README.md"), "Not YAML: [\n").unwrap();
    assert_eq!(
        rules(&report(dir.path(), "catalog"), "error"),
        BTreeSet::from(["catalog-file-invalid".to_owned()])
    );
    fs::write(path(".indexignore"), "# documentation\n*.md\n").unwrap();
    assert_eq!(report(dir.path(), "catalog")["findings"], json!([]));
    fs::write(path("a/.indexignore"), "fast.yml\n").unwrap();
    assert_eq!(report(dir.path(), "catalog")["channels"], 1);
}

#[cfg(unix)]
#[test]
fn links_to_files_of_the_catalog_are_followed_and_anything_else_is_an_error() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join("catalog").join(name);
    fs::create_dir(path("")).unwrap();
    fs::write(dir.path().join("elsewhere"), VALID).unwrap();
    fs::write(path("stored"), VALID).unwrap();
    fs::write(path(".indexignore"), "stored\nREADME.md\n").unwrap();
    symlink("stored", path("catalog.yaml")).unwrap();
    symlink("../elsewhere", path("README.md")).unwrap();
    assert_eq!(report(dir.path(), "catalog")["findings"], json!([]));
    symlink(".", path("loop")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    symlink("/dev/zero", path("zero")).unwrap();
    symlink("../elsewhere", path("secret")).unwrap();
    let found = report(dir.path(), "catalog");
    let files: Vec<_> = findings(&found).into_iter().map(|(file, _)| file).collect();
    assert_eq!(files, ["dangling", "loop", "secret", "zero"], "{found}");
    assert_eq!(rules(&found, "error"), BTreeSet::from(["catalog-file-invalid".to_owned()]));
    assert!(found.to_string().contains("the symbolic link points outside the directory"), "{found}");
    fs::remove_file(path(".indexignore")).unwrap();
    symlink("../elsewhere", path(".indexignore")).unwrap();
    let arguments = ["catalog", "validate", "catalog"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(arguments)
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains(".indexignore: the symbolic link points outside the directory"), "{error}");
}

#[test]
fn json_streams_are_read_as_opm_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("catalog");
    let package = r#"{"schema": "olm.package", "name": "gizmo", "defaultChannel": "stable"}"#;
    let channel =
        r#"{"schema": "olm.channel", "name": "stable", "package": "gizmo", "entries": [{"name": "a"}]}"#;
    let bundle = r#"{"schema": "olm.bundle", "name": "a", "package": "gizmo", "image": "quay.io/a/b:c",
        "properties": [{"type": "olm.package", "value": {"packageName": "gizmo", "version": "1.0.0"}}], "x": "\ud83d\ude00 \/"}"#;
    for (text, is_valid) in [
        (format!("{package}{channel}\n\n{bundle}\n"), true),
        (
            format!(
                "{package}\n---\n{channel}\n---\nschema: x\n---\n{}",
                bundle.replace("\\ud83d\\ude00 \\/", "")
            ),
            true,
        ),
        (format!("{package}\n---\n{channel}\n---\n{bundle}"), false),
        (format!("{package}{channel}\n---\n{bundle}"), false),
        (format!("{package}{channel}{bundle}}}"), false),
        (format!("{package}{channel}{bundle}[]"), false),
        (format!("{package}{channel}"), false),
    ] {
        fs::write(&file, &text).unwrap();
        let found = report(dir.path(), "catalog");
        assert_eq!(found["passed"], is_valid, "{text}\n{found}");
    }
    // A position in the third value.
    fs::write(&file, format!("{package}\n{channel}\n{}", bundle.replace("quay.io", "Quay/X"))).unwrap();
    let found = report(dir.path(), "catalog");
    let all = found["findings"].as_array().unwrap();
    let image = all.iter().find(|finding| finding["rule"] == "bundle-image-invalid").unwrap();
    assert_eq!((&image["line"], &image["path"]), (&json!(3), &json!("image")), "{found}");
}

#[test]
fn a_catalog_is_read_from_standard_input_and_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.yaml"), VALID.replace("defaultChannel: stable", "defaultChannel: x"))
        .unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(["catalog", "validate", "-"])
        .stdin(fs::File::open(dir.path().join("c.yaml")).unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let output = validate(dir.path(), &["c.yaml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("error[default-channel-unknown]: "), "{text}");
    assert!(text.contains("\n --> c.yaml:3:17\n  |\n3 | defaultChannel: x\n"), "{text}");
    let output = validate(dir.path(), &["nowhere", "c.yaml", "--output", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["catalogs"][0]["path"], &report["unreadable"][0]["path"]),
        (&json!("c.yaml"), &json!("nowhere"))
    );
}

#[test]
fn names_cannot_forge_findings() {
    let dir = tempfile::tempdir().unwrap();
    let forged = VALID
        .replace("name: fast", "name: \"x\\ny: error[z]: \\e[1m\"")
        .replace("package: gizmo\nentries:\n- name: gizmo.v1.2.0\n", "package: gadget\n");
    fs::write(dir.path().join("c.yaml"), forged).unwrap();
    let text = String::from_utf8(validate(dir.path(), &["."]).stdout).unwrap();
    assert!(
        !text.contains("\ny: error") && !text.contains('\u{1b}') && text.contains("x\\ny: error"),
        "{text}"
    );
}

#[test]
fn findings_of_one_rule_are_limited_and_the_verdict_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let text: String =
        (0..600).map(|number| format!("---\nschema: olm.channel\nname: c{number}\npackage: p\n")).collect();
    fs::write(dir.path().join("c.yaml"), text).unwrap();
    let found = report(dir.path(), ".");
    let findings = found["findings"].as_array().unwrap();
    let omitted = findings
        .iter()
        .filter(|finding| finding["message"] == "100 more findings of this rule are not listed");
    assert_eq!((findings.len(), omitted.count(), &found["passed"]), (1002, 2, &json!(false)), "{found}");
}

#[test]
fn many_duplicates_of_a_large_entry_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let (package, _) = VALID.split_once("---\n").unwrap();
    let count = 40_000;
    let skips: Vec<String> = (0..count).map(|number| format!("gizmo.v{number}")).collect();
    let first = format!("- {{name: gizmo.v1.0.0, skips: [{}]}}\n", skips.join(", "));
    let others = "- {name: gizmo.v1.0.0}\n".repeat(count);
    let channel = "schema: olm.channel\nname: stable\npackage: gizmo\nentries:\n";
    fs::write(dir.path().join("c.yaml"), format!("{package}---\n{channel}{first}{others}")).unwrap();
    let report = report(dir.path(), "c.yaml");
    let findings = report["findings"].as_array().unwrap().iter();
    assert_eq!(findings.filter(|finding| finding["rule"] == "channel-entry-duplicate").count(), 501);
}

#[test]
fn an_sqlite_index_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("index.db"), b"SQLite format 3\0\x10\0").unwrap();
    let found = report(dir.path(), ".");
    assert!(found["findings"][0]["message"].as_str().unwrap().contains("opm migrate"), "{found}");
}

#[test]
fn aliases_of_all_documents_together_are_limited() {
    use olm_model::read::catalog::{Content, Limits, Source, documents};
    // Each document alone stays below the limit of 16 MiB.
    let document = format!("---\na: &a {}\nb: [{}]\n", "x".repeat(10_000), "*a, ".repeat(1000));
    let read = |count: usize| {
        let content = Content::Bytes(document.repeat(count).into_bytes());
        let found = documents(vec![Source { name: "a".into(), content }], Limits::default(), |_| ());
        found.map(|found| found.len()).map_err(|error| error.to_string())
    };
    assert_eq!(read(1), Ok(1));
    assert!(read(2).unwrap_err().contains("aliases expand to more than 16777216 bytes"));
}

#[test]
fn the_limits_of_the_reader_are_reached_and_named() {
    use olm_model::read::catalog::{Content, Limits, Source, documents};
    let source = |name: &str, text: &str| Source { name: name.into(), content: Content::Bytes(text.into()) };
    let limits = Limits { document_size: 40, total_size: 100, documents: 3, without_schema: 3 };
    let count = |sources: Vec<Source>| {
        let read = documents(sources, limits, |document| match document.content {
            Ok(parsed) => Ok(parsed.text.len()),
            Err(error) => Err(format!("{}: {}", error.position.line, error.message)),
        });
        read.map_err(|error| error.to_string())
    };
    let small = "a: 1\n---\nb: 2\n---\nc: 3\n";
    assert_eq!(count(vec![source("a", small)]), Ok(vec![Ok(5), Ok(5), Ok(5)]));
    let too_many = "the catalog exceeds the limit of 3 documents";
    assert_eq!(count(vec![source("a", small), source("b", "d: 4\n")]), Err(too_many.to_owned()));
    let line = "x".repeat(36);
    let large = format!("a: {line}\n");
    assert_eq!(count(vec![source("a", &large)]), Ok(vec![Ok(40)]));
    let too_large = "2: the document exceeds the limit of 40 bytes".to_owned();
    assert_eq!(
        count(vec![source("a", &format!("#\n---\nab: {line}\n"))]).unwrap().pop(),
        Some(Err(too_large.replace('2', "3")))
    );
    assert_eq!(count(vec![source("a", &format!("\n{{\"ab\": \"{line}\"}}"))]), Ok(vec![Err(too_large)]));
    let total = count(vec![source("a", &large), source("b", &large), source("c", &large)]);
    assert_eq!(total, Err("the catalog exceeds the limit of 100 bytes".to_owned()));
    // However short they are, each document without a schema is a finding.
    let read = |text: &str| {
        let limits = Limits { without_schema: 2, ..Limits::default() };
        documents(vec![source("a", text)], limits, |_| ())
            .map(|found| found.len())
            .map_err(|error| error.to_string())
    };
    assert_eq!(read(&("schema: a\n---\n".repeat(9) + "---\n---\nb: 1\n")), Ok(11));
    let too_many = "the catalog exceeds the limit of 2 documents without a schema";
    assert_eq!(read(&"---\n---\n".repeat(3)), Err(too_many.to_owned()));
    // `.indexignore` files: their size, their patterns, in a directory and in an image.
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.yaml"), VALID).unwrap();
    let ignore = |text: &str| {
        fs::write(dir.path().join(".indexignore"), text).unwrap();
        olm_model::disk::catalog::sources(dir.path())
            .map(|sources| sources.len())
            .map_err(|error| error.to_string())
    };
    assert_eq!(ignore(&"x\n".repeat(1000)), Ok(1));
    assert!(ignore(&"x\n".repeat(1001)).unwrap_err().contains("more than 1000 patterns"));
    assert!(ignore(&"#\n".repeat(600_000)).unwrap_err().contains(".indexignore"));
    let files = [(".indexignore", "b.yaml\n"), ("a.yaml", "a: 1\n"), ("b.yaml", "b: 1\n")];
    let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    let read = olm_model::read::catalog::sources_in(files.into_iter().collect()).unwrap();
    assert_eq!(read.iter().map(|source| &*source.name).collect::<Vec<_>>(), ["a.yaml"]);
}

#[test]
fn findings_propose_what_to_change_here() {
    let dir = tempfile::tempdir().unwrap();
    let one_channel = VALID.replace(
        "---\nschema: olm.channel\nname: fast\npackage: gizmo\nentries:\n- name: gizmo.v1.2.0\n",
        "",
    );
    for (catalog, proposal) in [
        (
            VALID.replace("  replaces: gizmo.v1.1.0\n", ""),
            "make `gizmo.v1.2.0` replace or skip `gizmo.v1.1.0`",
        ),
        (
            VALID
                .replace("  replaces: gizmo.v1.1.0\n", "  replaces: gizmo.v1.0.0\n")
                .replace("\n  replaces: gizmo.v1.0.0\n- ", "\n- "),
            "make `gizmo.v1.2.0` skip `gizmo.v1.1.0`",
        ),
        (
            VALID.replace("- name: gizmo.v1.0.0\n", "- name: gizmo.v1.0.0\n  replaces: gizmo.v1.2.0\n"),
            "make `gizmo.v1.0.0` neither replace nor skip `gizmo.v1.2.0`, the newest entry",
        ),
        (
            VALID.replace("- name: gizmo.v1.0.0\n", "- name: gizmo.v1.0.0\n  replaces: gizmo.v1.1.0\n"),
            "remove `replaces: gizmo.v1.1.0` from the entry `gizmo.v1.0.0`",
        ),
        (VALID.replace("defaultChannel: stable", "defaultChannel: Stable"), "set `defaultChannel: stable`"),
        (one_channel.replace("defaultChannel: stable", "defaultChannel: x"), "set `defaultChannel: stable`"),
        (
            VALID.replace("{schema: olm.channel, name: stable}", "{schema: olm.channel, name: stabel}"),
            "set `name: stable`, or remove the deprecation",
        ),
    ] {
        assert_ne!(catalog, VALID);
        fs::write(dir.path().join("c.yaml"), catalog).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
            .current_dir(dir.path())
            .args(["catalog", "validate", "c.yaml"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(&format!("= help: {proposal}\n")), "{proposal}: {text}");
    }
}

#[test]
fn findings_are_ignored_by_comments_options_and_settings() {
    let dir = tempfile::tempdir().unwrap();
    let unused = "# bundle-tool: ignore[channel-cycle] never\n";
    let ignored = VALID.replace(
        "---\nschema: vendor.note",
        &format!("---\n# bundle-tool: ignore[catalog-schema-unknown] ours\nschema: olm.note\n{unused}"),
    );
    fs::write(dir.path().join("c.yaml"), ignored).unwrap();
    let found = report(dir.path(), "c.yaml");
    let by = |rule: &str| {
        let all = found["findings"].as_array().unwrap();
        all.iter().find(|finding| finding["rule"] == rule).map(|finding| finding["ignored"].clone())
    };
    assert_eq!(by("catalog-schema-unknown"), Some(json!({"by": "comment", "reason": "ours"})), "{found}");
    assert_eq!(by("ignore-unused"), Some(Value::Null), "{found}");

    fs::write(dir.path().join("c.yaml"), VALID.replace("schema: vendor.note", "schema: olm.note")).unwrap();
    let status = |arguments: &[&str]| validate(dir.path(), arguments).status.code();
    assert_eq!(status(&["c.yaml"]), Some(0));
    assert_eq!(status(&["c.yaml", "--deny", "catalog-schema-unknown"]), Some(1));
    assert_eq!(status(&["c.yaml", "--deny", "warnings", "--allow", "catalog-schema-unknown"]), Some(0));
    assert_eq!(status(&["c.yaml", "--allow", "catalog-schema-missing"]), Some(2), "it cannot be ignored");
    fs::write(dir.path().join("bundle-tool.toml"), "[rules]\ncatalog-schema-unknown = \"deny\"\n").unwrap();
    assert_eq!(status(&["c.yaml"]), Some(1));
    assert_eq!(status(&["c.yaml", "--no-config"]), Some(0));
    let all = crate::support::run(dir.path(), &["validate", "c.yaml"]);
    assert_eq!(all.status, Some(1), "{}", all.stdout);
}

#[test]
fn file_that_is_no_catalog_leads_to_indexignore() {
    for (name, text) in [("README.md", "# Catalog\n\nBuild it.\n"), ("ci.yaml", "reviewers: [a]\n")] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("catalog.yaml"), VALID).unwrap();
        fs::write(dir.path().join(name), text).unwrap();
        let output = validate(dir.path(), &["."]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(text.contains("`.indexignore`"), "{name}: {text}");
    }
}

#[test]
fn catalog_on_standard_input_is_rendered() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.yaml"), VALID).unwrap();
    let render = |reference: &str| {
        let mut command = assert_cmd::Command::cargo_bin("bundle-tool").unwrap();
        command.current_dir(dir.path()).args(["render", reference]).write_stdin(VALID);
        command.assert().success().get_output().stdout.clone()
    };
    assert_eq!(render("-"), render("."));
}
