//! `bundle-tool fix` for file-based catalogs: what it changes, what it leaves, and that `catalog validate` agrees.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use serde_json::Value;

use crate::support::{Run, run};

const VALID: &str = include_str!("../fixtures/catalog/valid.yaml");

/// The valid catalog without its second channel.
fn one_channel() -> String {
    let second = "---\nschema: olm.channel\nname: fast\npackage: gizmo\nentries:\n- name: gizmo.v1.2.0\n";
    assert_eq!(VALID.matches(second).count(), 1);
    VALID.replace(second, "")
}

/// Writes a catalog of one file and runs `fix`.
fn fix(directory: &Path, file: &str, text: &str, more: &[&str]) -> Run {
    fs::create_dir_all(directory.join("c")).unwrap();
    fs::write(directory.join("c").join(file), text).unwrap();
    run(directory, &[&["fix", "c"], more].concat())
}

fn read(directory: &Path, file: &str) -> String {
    fs::read_to_string(directory.join("c").join(file)).unwrap()
}

/// The number of findings of `catalog validate`, and how many of them have a safe and an unsafe fix.
fn findings(directory: &Path) -> [usize; 3] {
    let output = run(directory, &["catalog", "validate", "c", "--output", "json"]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let findings = report["catalogs"][0]["findings"].as_array().unwrap();
    let with = |safety: &str| findings.iter().filter(|finding| finding["fix"]["safety"] == safety).count();
    [findings.len(), with("safe"), with("unsafe")]
}

/// A replacement in the valid catalog that has exactly one fix, and what the fix makes of the replaced text.
struct Case {
    from: &'static str,
    to: &'static str,
    fixed: &'static str,
    is_safe: bool,
}

const fn safe(from: &'static str, to: &'static str, fixed: &'static str) -> Case {
    Case { from, to, fixed, is_safe: true }
}

const fn review(from: &'static str, to: &'static str, fixed: &'static str) -> Case {
    Case { from, to, fixed, is_safe: false }
}

const CASES: &[Case] = &[
    safe(
        "- reference: {schema: olm.bundle, name: gizmo.v1.0.0}\n  message: too old\n",
        "# gone\n- reference: {schema: olm.bundle, name: gizmo.v0.1.0}\n  message: too old\n",
        "# gone\n",
    ),
    safe(
        "  message: use fast\n",
        "  message: use fast\n- reference: {schema: olm.channel, name: stable}\n  message: use fast\n",
        "  message: use fast\n",
    ),
    safe("{schema: olm.package}", "{schema: olm.package, name: gizmo}", "{schema: olm.package}"),
    safe(
        "- name: gizmo.v1.0.0\n",
        "- name: gizmo.v1.0.0 # first\n- name: gizmo.v1.0.0\n",
        "- name: gizmo.v1.0.0 # first\n",
    ),
    safe("skips: [gizmo.v0.9.0]", "skips: ['', gizmo.v0.9.0, ''] # old", "skips: [gizmo.v0.9.0] # old"),
    safe("  skips: [gizmo.v0.9.0]\n", "  skips: ['']\n", ""),
    safe("mediatype: image/png", "mediatype: image/svg+xml", "mediatype: image/png"),
    safe(
        "{base64data: iVBORw0KGgo=, mediatype: image/png}",
        "{base64data: iVBORw0KGgo=}",
        "{base64data: iVBORw0KGgo=, mediatype: image/png}",
    ),
    safe("version: 1.0.0}", "version: v1.0}", "version: 1.0.0}"),
    safe(
        "  value: {packageName: gizmo, version: 1.0.0}\n",
        "  value: {packageName: gizmo, version: 1.0.0}\n- value: {version: 1.0.0, packageName: gizmo}\n  type: olm.package\n",
        "  value: {packageName: gizmo, version: 1.0.0}\n",
    ),
    review("defaultChannel: stable", "defaultChannel: Stable # it is", "defaultChannel: stable # it is"),
    review(
        "{schema: olm.channel, name: stable}",
        "{schema: olm.channel, name: stabel}",
        "{schema: olm.channel, name: stable}",
    ),
    review(
        "{schema: olm.bundle, name: gizmo.v1.0.0}",
        "{schema: olm.bundle, name: Gizmo.v1.0.0}",
        "{schema: olm.bundle, name: gizmo.v1.0.0}",
    ),
    review("- name: gizmo.v1.0.0\n", "- name: gizmo-v1.0.0\n", "- name: gizmo.v1.0.0\n"),
    review(
        "- name: gizmo.v1.0.0\n",
        "- name: gizmo.v1.0.0\n  replaces: gizmo.v1.1.0\n",
        "- name: gizmo.v1.0.0\n",
    ),
    review("name: fast\npackage: gizmo", "name: fast\npackage: gizmos", "name: fast\npackage: gizmo"),
];

#[test]
fn each_fix_changes_its_place_alone_and_validation_agrees() {
    let dir = tempfile::tempdir().unwrap();
    for Case { from, to, fixed, is_safe } in CASES {
        assert_eq!(VALID.matches(from).count(), 1, "{from}");
        let broken = VALID.replace(from, to);
        let output = fix(dir.path(), "catalog.yaml", &broken, &[]);
        assert_eq!(output.status, Some(0), "{to}: {}", output.stderr);
        if !is_safe {
            assert_eq!(read(dir.path(), "catalog.yaml"), broken, "{to}: {}", output.stderr);
            assert!(
                output.stderr.ends_with("fixed 0 findings; --unsafe-fixes can fix 1 more\n"),
                "{to}: {}",
                output.stderr
            );
            assert_eq!(findings(dir.path())[1..], [0, 1], "{to}");
            fix(dir.path(), "catalog.yaml", &broken, &["--unsafe-fixes"]);
        }
        let text = read(dir.path(), "catalog.yaml");
        assert_eq!(text, VALID.replace(from, fixed), "{to}");
        assert_eq!(findings(dir.path()), [0, 0, 0], "{to}");
        // Again: nothing changes.
        let again = run(dir.path(), &["fix", "c", "--unsafe-fixes"]);
        assert_eq!(again.stderr, "c: fixed 0 findings\n", "{to}");
        assert_eq!(read(dir.path(), "catalog.yaml"), text, "{to}");
    }
}

#[test]
fn the_only_channel_becomes_the_default() {
    let dir = tempfile::tempdir().unwrap();
    for default in ["defaultChannel: x\n", "defaultChannel: ''\n", "defaultChannel:\n", ""] {
        let broken = one_channel().replace("defaultChannel: stable\n", default);
        let output = fix(dir.path(), "catalog.yaml", &broken, &[]);
        assert_eq!(output.status, Some(0), "{default}: {}", output.stderr);
        assert!(output.stderr.contains(": set `defaultChannel: stable`\n"), "{default}: {}", output.stderr);
        assert_eq!(findings(dir.path()), [0, 0, 0], "{default}");
    }
    // Of two channels, either could be meant.
    let broken = VALID.replace("defaultChannel: stable", "defaultChannel: x");
    let output = fix(dir.path(), "catalog.yaml", &broken, &["--unsafe-fixes"]);
    assert_eq!(output.stderr, "c: fixed 0 findings\n");
    assert_eq!(read(dir.path(), "catalog.yaml"), broken);
}

#[test]
fn two_fixes_in_a_list_and_a_blob_without_entries() {
    let dir = tempfile::tempdir().unwrap();
    let start = VALID.find("---\nschema: olm.deprecations").unwrap();
    let end = VALID.find("---\nschema: vendor.note").unwrap();
    let (head, tail) = (&VALID[..start], &VALID[end..]);
    let of = |names: &[&str]| {
        let entries: String = names
            .iter()
            .map(|name| format!("- reference: {{schema: olm.bundle, name: {name}}}\n  message: m\n"))
            .collect();
        format!("---\nschema: olm.deprecations\npackage: gizmo\nentries:\n{entries}")
    };
    let broken = format!("{head}{}{tail}", of(&["x.v1.0.0", "gizmo.v1.0.0", "x.v2.0.0", "x.v3.0.0"]));
    let output = fix(dir.path(), "catalog.yaml", &broken, &[]);
    assert!(output.stderr.ends_with("fixed 3 findings in 1 file\n"), "{}", output.stderr);
    assert_eq!(read(dir.path(), "catalog.yaml"), format!("{head}{}{tail}", of(&["gizmo.v1.0.0"])));
    let broken = format!("{head}{}{tail}", of(&["x.v1.0.0", "x.v2.0.0"]));
    fix(dir.path(), "catalog.yaml", &broken, &[]);
    assert_eq!(read(dir.path(), "catalog.yaml"), format!("{head}{tail}"));
    // A file without any other document is removed.
    fs::write(dir.path().join("c/deprecations.yaml"), of(&["x.v1.0.0"])).unwrap();
    let output = run(dir.path(), &["fix", "c", "--check"]);
    assert_eq!(output.status, Some(1));
    assert!(output.stdout.contains("-schema: olm.deprecations\n"), "{}", output.stdout);
    assert!(dir.path().join("c/deprecations.yaml").exists());
    assert_eq!(run(dir.path(), &["fix", "c"]).status, Some(0));
    assert!(!dir.path().join("c/deprecations.yaml").exists());
}

#[test]
fn all_items_of_a_list_are_removed_wherever_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (before, _) = VALID.split_once("---\nschema: olm.deprecations\n").unwrap();
    // Between the items, what separates them is kept, so that each could be removed by itself.
    let gone = |number: usize| {
        format!("- reference: {{schema: olm.bundle, name: gone.v{number}}}\n  message: old\n\n# next\n")
    };
    let text = format!(
        "{before}---\nschema: olm.deprecations\npackage: gizmo\nentries:\n{}{}{}",
        gone(1),
        gone(2),
        gone(3)
    );
    let run = fix(dir.path(), "catalog.yaml", &text, &[]);
    assert!(run.stderr.contains("fixed 3 findings in 1 file"), "{}", run.stderr);
    assert_eq!(findings(dir.path()), [0, 0, 0]);
}

#[test]
fn keys_in_another_case_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let text = VALID
        .replace("mediatype: image/png", "mediaType: image/svg+xml")
        .replace("skips: [gizmo.v0.9.0]", "Skips: ['', gizmo.v0.9.0]");
    fix(dir.path(), "catalog.yaml", &text, &[]);
    let expected = VALID.replace("mediatype:", "mediaType:").replace("skips: [", "Skips: [");
    assert_eq!(read(dir.path(), "catalog.yaml"), expected);
}

#[test]
fn json_stays_json() {
    let dir = tempfile::tempdir().unwrap();
    let compact = r#"{"schema": "olm.package", "name": "gizmo", "icon": {"base64data": "iVBORw0KGgo="}}
{"schema": "olm.channel", "name": "stable", "package": "gizmo", "entries": [{"name": "a", "skips": [""]}, {"name": "a", "skips": [""]}]}
{"schema":"olm.bundle","name":"a","package":"gizmo","image":"quay.io/a/b:c","x":1.50,"properties":[{"type":"olm.csv.metadata","value":{}},{"type":"olm.package","value":{"packageName":"gizmo","version":"v1.0.0"}}]}
"#;
    let fixed = r#"{"schema": "olm.package", "name": "gizmo", "icon": {"base64data": "iVBORw0KGgo=", "mediatype": "image/png"}, "defaultChannel": "stable"}
{"schema": "olm.channel", "name": "stable", "package": "gizmo", "entries": [{"name": "a"}]}
{"schema":"olm.bundle","name":"a","package":"gizmo","image":"quay.io/a/b:c","x":1.50,"properties":[{"type":"olm.csv.metadata","value":{}},{"type":"olm.package","value":{"packageName":"gizmo","version":"1.0.0"}}]}
"#;
    let output = fix(dir.path(), "catalog.json", compact, &[]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    assert_eq!(read(dir.path(), "catalog.json"), fixed, "{}", output.stderr);
    assert_eq!(findings(dir.path()), [0, 0, 0]);
    let pretty = "{\n    \"schema\": \"olm.package\",\n    \"name\": \"gizmo\"\n}\n";
    let rest = fixed.split_once('\n').unwrap().1;
    let output = fix(dir.path(), "catalog.json", &format!("{pretty}{rest}"), &[]);
    let expected = pretty.replace("\"gizmo\"\n", "\"gizmo\",\n    \"defaultChannel\": \"stable\"\n");
    assert_eq!(read(dir.path(), "catalog.json"), format!("{expected}{rest}"), "{}", output.stderr);
    // Documents that do not begin on lines of their own are not fixed.
    let broken = compact.replace('\n', "");
    let output = fix(dir.path(), "catalog.json", &broken, &[]);
    assert_eq!((output.status, read(dir.path(), "catalog.json")), (Some(0), broken), "{}", output.stderr);
}

#[test]
fn objects_are_migrated_where_the_version_of_openshift_requires_it() {
    let dir = tempfile::tempdir().unwrap();
    let csv = r#"{"kind":"ClusterServiceVersion","metadata":{"name":"gizmo.v1.0.0"},"spec":{"displayName":"Gizmo"}}"#;
    let data = base64::engine::general_purpose::STANDARD.encode(csv);
    let object = format!("- type: olm.bundle.object\n  value: {{data: {data}}}\n");
    let broken = format!("# Ours\n{VALID}")
        .replace("relatedImages:\n", &format!("{object}# images\nrelatedImages:\n"));
    let output = fix(dir.path(), "catalog.yaml", &broken, &[]);
    assert_eq!(output.stderr, "c: fixed 0 findings\n");
    let output = run(dir.path(), &["fix", "c", "--openshift", "4.17"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let text = read(dir.path(), "catalog.yaml");
    assert!(!text.contains("olm.bundle.object") && text.contains("displayName: Gizmo"), "{text}");
    assert!(text.starts_with("# Ours\n") && text.contains("# images\nrelatedImages:\n"), "{text}");
    // As `catalog migrate` does.
    fs::write(dir.path().join("c/catalog.yaml"), &broken).unwrap();
    assert_eq!(run(dir.path(), &["catalog", "migrate", "c"]).status, Some(0));
    assert_eq!(read(dir.path(), "catalog.yaml"), text);
    // Without a valid CSV, there is nothing to migrate; other findings are fixed.
    let invalid = base64::engine::general_purpose::STANDARD.encode(csv.replace("\"Gizmo\"", "1"));
    let invalid = broken.replace(&data, &invalid).replace("image/png", "image/gif");
    let output = fix(dir.path(), "catalog.yaml", &invalid, &["--openshift", "4.17"]);
    assert!(output.stderr.ends_with("c: fixed 1 finding in 1 file\n"), "{}", output.stderr);
    assert_eq!(read(dir.path(), "catalog.yaml"), invalid.replace("image/gif", "image/png"));
    // By the place in a catalog repository.
    let path = dir.path().join("catalogs/v4.18");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("catalog.yaml"), &broken).unwrap();
    let output = run(dir.path(), &["validate", "catalogs/v4.18", "--fix"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("bundle-object-obsolete: replace `olm.bundle.object` with `olm.csv.metadata`\n")
    );
    assert!(output.stdout.contains("0 errors, 0 warnings"), "{}", output.stdout);
    assert_eq!(fs::read_to_string(path.join("catalog.yaml")).unwrap(), text);
}

#[test]
fn a_diff_shows_the_changes_of_all_files_and_writes_none() {
    let dir = tempfile::tempdir().unwrap();
    let (package, rest) = VALID.split_once("---\n").unwrap();
    let package = package.replace("image/png", "image/gif").replace("stable", "Stable");
    let rest = rest.replace("skips: [gizmo.v0.9.0]", "skips: [gizmo.v0.9.0, '']");
    fs::create_dir_all(dir.path().join("c/other")).unwrap();
    fs::write(dir.path().join("c/other/rest.yaml"), &rest).unwrap();
    let output = fix(dir.path(), "package.yaml", &package, &["--check", "--unsafe-fixes"]);
    assert_eq!(output.status, Some(1));
    insta::assert_snapshot!(format!("{}{}", output.stdout, output.stderr));
    assert_eq!(read(dir.path(), "package.yaml"), package);
    assert_eq!(read(dir.path(), "other/rest.yaml"), rest);
}

#[test]
fn nothing_is_written_where_a_document_cannot_be_read_or_fixes_cause_errors() {
    let dir = tempfile::tempdir().unwrap();
    let broken = VALID.replace("image/png", "image/gif");
    fs::create_dir_all(dir.path().join("c")).unwrap();
    fs::write(dir.path().join("c/README.md"), "Not YAML: [\n").unwrap();
    let output = fix(dir.path(), "catalog.yaml", &broken, &[]);
    assert_eq!(output.status, Some(2));
    assert!(output.stderr.starts_with("error: cannot fix c: README.md:"), "{}", output.stderr);
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    assert_eq!(read(dir.path(), "catalog.yaml"), broken);
    fs::remove_file(dir.path().join("c/README.md")).unwrap();
    // A bundle of another package, whose name is not misspelled after all.
    let other = "---\nschema: olm.bundle\nname: gizmos.v1.0.0\npackage: gizmos\nimage: quay.io/a/b:c\nproperties:\n- type: olm.package\n  value: {packageName: gizmos, version: 3.0.0}\n";
    let with_other = format!("{broken}{other}");
    let output = fix(dir.path(), "catalog.yaml", &with_other, &["--unsafe-fixes"]);
    assert_eq!(
        output.stderr,
        "error: cannot fix c: the fixes would increase the number of errors from 1 to 2; nothing was written\n"
    );
    assert_eq!((output.status, read(dir.path(), "catalog.yaml")), (Some(2), with_other));
    fs::write(dir.path().join("c/catalog.yaml"), &broken).unwrap();
    // A link is neither written through nor replaced.
    let outside = dir.path().join("outside.yaml");
    fs::rename(dir.path().join("c/catalog.yaml"), &outside).unwrap();
    std::os::unix::fs::symlink("../outside.yaml", dir.path().join("c/catalog.yaml")).unwrap();
    for more in [&[][..], &["--check"]] {
        let output = run(dir.path(), &[&["fix", "c"], more].concat());
        assert_eq!(output.status, Some(2));
        assert!(output.stderr.starts_with("error: cannot fix c: "), "{}", output.stderr);
        assert_eq!(fs::read_to_string(&outside).unwrap(), broken);
    }
}
