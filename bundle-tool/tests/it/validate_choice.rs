//! What users decide about rules: `--allow`, `--warn`, `--deny`, `bundle-tool.toml` and comments.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;

use crate::project::stderr;
use crate::schema;
use crate::support::copy_bundle;

fn run(args: &[&str]) -> Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

/// A bundle in a directory of its own whose one finding is an error of the rule `unsupported-kind` in line 2.
fn bundle(dir: &Path, comment: &str) -> PathBuf {
    let bundle = copy_bundle(dir.join("bundle"));
    let job = format!("apiVersion: batch/v1\nkind: Job {comment}\nmetadata: {{name: x}}\n");
    fs::write(bundle.join("manifests/job.yaml"), job).unwrap();
    bundle
}

/// The rule, the severity and who ignores it, of each finding.
fn findings(bundle: &Path, args: &[&str]) -> Vec<(String, String, Option<String>)> {
    let output = run(&[&["validate", "-o", "json", bundle.to_str().unwrap()], args].concat());
    let answer: Value = serde_json::from_slice(&output.get_output().stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = answer["bundles"][0]["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            let by = finding["ignored"]["by"].as_str().map(str::to_owned);
            (text(&finding["rule"]), text(&finding["severity"]), by)
        })
        .collect()
}

fn one(rule: &str, severity: &str, by: Option<&str>) -> Vec<(String, String, Option<String>)> {
    vec![(rule.to_owned(), severity.to_owned(), by.map(str::to_owned))]
}

const RULE: &str = "unsupported-kind";

#[test]
fn command_line_sets_levels() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = bundle(dir.path(), "");
    assert_eq!(findings(&bundle, &[]), one(RULE, "error", None));
    assert_eq!(findings(&bundle, &["--allow", RULE]), one(RULE, "error", Some("rule")));
    assert_eq!(findings(&bundle, &["--warn", "file-hidden,unsupported-kind"]), one(RULE, "warning", None));
    let path = bundle.to_str().unwrap();
    run(&["validate", path, "--allow", RULE]).success();
    run(&["validate", path, "--warn", RULE]).success();
    run(&["validate", path, "--warn", RULE, "--deny", "warnings"]).success();
    let message = stderr(&run(&["validate", path, "--warn", RULE, "--deny", RULE]).code(2));
    assert!(
        message.contains("rule `unsupported-kind` is in several of --allow, --warn and --deny"),
        "{message}"
    );
    let message = stderr(&run(&["validate", path, "--deny", "unsuported-kind"]).code(2));
    assert!(
        message.contains("unknown rule `unsuported-kind`: did you mean `unsupported-kind`?"),
        "{message}"
    );
    let message = stderr(&run(&["validate", path, "--deny", "capability-unknown"]));
    let expected = "warning: --deny capability-unknown has no effect: the suite `capabilities` is not enabled; pass --suite capabilities\n";
    assert_eq!(message, expected);
    fs::remove_file(bundle.join("manifests/job.yaml")).unwrap();
    let settings =
        "apiVersion: v1\nkind: ConfigMap # bundle-tool: ignore[file-hidden] x\nmetadata: {name: x}\n";
    fs::write(bundle.join("manifests/settings.yaml"), settings).unwrap();
    let before = findings(&bundle, &[]);
    assert_eq!(before[0].1, "warning", "{before:?}");
    run(&["validate", path]).success();
    run(&["validate", path, "--deny", "warnings"]).code(1);
}

#[test]
fn nearest_settings_file_applies() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = bundle(dir.path(), "");
    let file = dir.path().join("bundle-tool.toml");
    let set = |text: &str| fs::write(&file, text).unwrap();
    set("[rules]\nunsupported-kind = \"warn\"\n");
    assert_eq!(findings(&bundle, &[]), one(RULE, "warning", None));
    assert_eq!(findings(&bundle, &["--deny", RULE]), one(RULE, "error", None));
    assert_eq!(findings(&bundle, &["--no-config"]), one(RULE, "error", None));
    set(
        "[[ignore]]\nrule = \"unsupported-kind\"\nfile = \"manifests/*.yaml\"\npath = \"kind\"\nreason = \"known\"\n",
    );
    assert_eq!(findings(&bundle, &[]), one(RULE, "error", Some("settings")));
    run(&["validate", bundle.to_str().unwrap()]).success();
    set("[[ignore]]\nrule = \"unsupported-kind\"\npath = \"spec\"\nreason = \"known\"\n");
    let assert = run(&["validate", bundle.to_str().unwrap()]).code(1);
    let unused =
        "bundle-tool.toml: ignore[0]: no finding of `unsupported-kind` to ignore; remove the entry\n";
    assert!(stderr(&assert).ends_with(unused), "{}", stderr(&assert));
    // A file of one's own replaces the nearest one.
    let other = dir.path().join("other.toml");
    fs::write(&other, "[rules]\nunsupported-kind = \"allow\"\n").unwrap();
    let other = other.to_str().unwrap();
    assert_eq!(findings(&bundle, &["--config", other]), one(RULE, "error", Some("rule")));
    for (text, expected) in [
        (
            "[rules]\nunsupported-kin = \"allow\"\n",
            "unknown rule `unsupported-kin`: did you mean `unsupported-kind`?",
        ),
        ("[rules]\nyaml-syntax = \"allow\"\n", "rule `yaml-syntax` cannot be ignored"),
        ("suites = [\"operatorhub\"]\n", "unknown suite `operatorhub`: did you mean `operatorhubv2`?"),
        ("suite = []\n", "bundle-tool.toml:1:1: unknown field `suite`"),
    ] {
        set(text);
        let assert = run(&["validate", bundle.to_str().unwrap()]).code(2);
        assert!(stderr(&assert).contains(expected), "{}", stderr(&assert));
    }
}

#[test]
fn comments_ignore_one_rule_in_one_place() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = bundle(dir.path(), "# bundle-tool: ignore[unsupported-kind] the operator creates it");
    assert_eq!(findings(&bundle, &[]), one(RULE, "error", Some("comment")));
    assert_eq!(findings(&bundle, &["--no-ignore-comments"]), one(RULE, "error", None));
    run(&["validate", bundle.to_str().unwrap()]).success();
    // Also where a block scalar begins.
    let manifest = bundle.join("manifests/job.yaml");
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: z\n  namespace: |- # bundle-tool: ignore[metadata-namespace-set] because\n    # bundle-tool: ignore[text] x\n";
    fs::write(&manifest, text).unwrap();
    assert!(findings(&bundle, &[]).iter().all(|(_, _, ignored)| ignored.is_some()));
    // A comment ignores nothing elsewhere, and is reported then.
    let text = "# bundle-tool: ignore[unsupported-kind] the operator creates it\napiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n";
    fs::write(&manifest, text).unwrap();
    let found = findings(&bundle, &[]);
    let rules: Vec<_> = found.iter().map(|(rule, ..)| rule.as_str()).collect();
    assert_eq!(rules, ["ignore-unused", RULE]);
    assert_eq!(found[1].2, None);
}

/// What is ignored changes nothing but the mark, for every rule that the bundle breaks.
#[test]
fn ignored_rule_does_not_change_other_rules() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = bundle(dir.path(), "");
    let csv = bundle.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    let text = fs::read_to_string(&csv).unwrap();
    let text = text
        .replace("gizmos.gadgets.example.com", "gadgets.example.com")
        .replace("version: 1.2.0", "version: x");
    fs::write(&csv, text).unwrap();
    let all = findings(&bundle, &["--suite", "all"]);
    assert!(all.len() >= 3, "{all:?}");
    for (rule, ..) in &all {
        if ["csv-undecodable", "yaml-syntax", "object-undecodable"].contains(&rule.as_str()) {
            continue;
        }
        let found = findings(&bundle, &["--suite", "all", "--allow", rule]);
        let expected: Vec<_> = all
            .iter()
            .map(|(other, severity, _)| {
                (other.clone(), severity.clone(), (other == rule).then(|| "rule".to_owned()))
            })
            .collect();
        assert_eq!(found, expected, "{rule}");
    }
}

#[test]
fn schema_of_settings_describes_what_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas/bundle-tool.json");
    let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let full = serde_json::json!({
        "$schema": "x", "profile": "olmv1", "suites": ["all"], "deny-warnings": true, "rules": {"a-b": "warn"},
        "ignore": [{"rule": "a-b", "file": "*", "path": "x", "reason": "y"}],
    });
    assert_eq!(schema::errors(&schema, &full), Vec::<String>::new());
    let text = "\"$schema\" = \"x\"\nprofile = \"olmv1\"\nsuites = [\"all\"]\ndeny-warnings = true\n[rules]\nfile-hidden = \"warn\"\n\
                [[ignore]]\nrule = \"file-hidden\"\nfile = \"*\"\npath = \"x\"\nreason = \"y\"\n";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle-tool.toml");
    fs::write(&file, text).unwrap();
    let settings = bundle_tool::settings::read(&file).unwrap();
    assert_eq!((settings.suites, settings.profile.as_deref()), (vec!["all".to_owned()], Some("olmv1")));
    let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, full.as_object().unwrap().keys().collect::<Vec<_>>());
}

#[test]
fn profile_can_be_set_in_the_settings() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    let settings = dir.path().join("bundle-tool.toml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas/bundle-tool.json");
    let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    for profile in schema["properties"]["profile"]["enum"].as_array().unwrap() {
        let profile = profile.as_str().unwrap();
        fs::write(&settings, "").unwrap();
        let expected = findings(&bundle, &["--profile", profile]);
        fs::write(&settings, format!("profile = \"{profile}\"\n")).unwrap();
        assert_eq!(findings(&bundle, &[]), expected, "{profile}");
    }
    assert_ne!(findings(&bundle, &["--profile", "community"]), []);
    fs::write(&settings, "profile = \"comunity\"\n").unwrap();
    let error = stderr(&run(&["validate", bundle.to_str().unwrap()]).code(2));
    assert!(
        error.contains("bundle-tool.toml:1:11: unknown profile `comunity`: did you mean `community`?"),
        "{error}"
    );
}
