//! Every rule against its fixtures: `tests/fixtures/rules/<rule>.yaml` holds `fail` and `pass`, lists of edits to the
//! valid bundle in `tests/fixtures/bundle`. Each of `fail` must be found by the rule, none of `pass` may be, and a
//! case may break only its own rule, and those that `also` lists.
//!
//! An edit is `{in: csv|crd|annotations|FILE, path: a.b[0]["c.d"], set: VALUE}` (or `remove: true`, or
//! `append: VALUE` for a list), `{in: FILE, text: "…"}` for a file as it is, `{in: FILE, noise: BYTES}` for a ConfigMap
//! of text that cannot be compressed much, or `{in: FILE, delete: true}`. A case is one edit or a list of edits.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use bundle_tool::model::Bundle;
use bundle_tool::read;
use bundle_tool::report::{self, Finding, Severity, Suite};
use bundle_tool::rules::{self, Selection};
use serde_json::Value;

const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const CRD: &str = "manifests/gizmos.gadgets.example.com.crd.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn valid_bundle() -> BTreeMap<String, Vec<u8>> {
    [CSV, CRD, ANNOTATIONS]
        .into_iter()
        .map(|path| (path.to_owned(), fs::read(fixtures().join("bundle").join(path)).unwrap()))
        .collect()
}

fn findings(files: &BTreeMap<String, Vec<u8>>) -> Vec<Finding> {
    let bundle: Bundle = read::bundle::files("fixture", files);
    let selection = Selection { suites: Suite::ALL.to_vec(), ..Selection::default() };
    rules::validate(&bundle, &selection).findings
}

fn yaml(bytes: &[u8]) -> Value {
    let parsed = read::yaml::parse(bytes);
    assert_eq!(parsed.error, None);
    parsed.documents.first().map_or(Value::Null, |tree| tree.root().to_json())
}

/// `a.b[0]["c.d"]` as keys and indices.
fn steps(path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let end = quoted.find("\"]").unwrap_or_else(|| panic!("no end of a quoted key in {path}"));
            steps.push(quoted[..end].to_owned());
            rest = &quoted[end + 2..];
        } else if let Some(index) = rest.strip_prefix('[') {
            let end = index.find(']').unwrap_or_else(|| panic!("no end of an index in {path}"));
            steps.push(index[..end].to_owned());
            rest = &index[end + 1..];
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            steps.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    steps
}

/// The value at `steps`, made where it is not there; a list is extended by one item at its end.
fn reach<'v>(mut here: &'v mut Value, steps: &[String]) -> &'v mut Value {
    for step in steps {
        if here.is_null() {
            *here = Value::Object(serde_json::Map::new());
        }
        here = match here {
            Value::Array(items) => {
                let index: usize = step.parse().unwrap_or_else(|_| panic!("{step} is no index"));
                if index == items.len() {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            Value::Object(map) => map.entry(step.clone()).or_insert(Value::Null),
            other => panic!("{step}: cannot look into {other}"),
        };
    }
    here
}

/// A ConfigMap of about `bytes` bytes, the same each time.
fn noise(bytes: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: noise}\ndata:\n  noise: ");
    let mut state: u64 = 1;
    for _ in 0..bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(char::from(LETTERS[(state >> 58) as usize]));
    }
    text + "\n"
}

fn apply(files: &mut BTreeMap<String, Vec<u8>>, edit: &Value) {
    let name = match edit["in"].as_str().unwrap_or_else(|| panic!("an edit without `in`: {edit}")) {
        "csv" => CSV,
        "crd" => CRD,
        "annotations" => ANNOTATIONS,
        name => name,
    };
    if edit["delete"] == true {
        files.remove(name).unwrap_or_else(|| panic!("{name} is not there"));
    } else if let Some(text) = edit["text"].as_str() {
        files.insert(name.to_owned(), text.as_bytes().to_vec());
    } else if let Some(bytes) = edit["noise"].as_u64() {
        files.insert(name.to_owned(), noise(bytes).into_bytes());
    } else {
        let mut document = files.get(name).map_or(Value::Null, |bytes| yaml(bytes));
        let path = steps(edit["path"].as_str().unwrap_or_default());
        if edit["remove"] == true {
            let (last, parents) = path.split_last().expect("a path to remove");
            match reach(&mut document, parents) {
                Value::Array(items) => {
                    items.remove(last.parse().unwrap());
                }
                Value::Object(map) => {
                    map.shift_remove(last).unwrap_or_else(|| panic!("nothing to remove: {edit}"));
                }
                other => panic!("cannot remove {last} from {other}"),
            }
        } else if let Some(item) = edit.get("append") {
            match reach(&mut document, &path) {
                Value::Array(items) => items.push(item.clone()),
                other => panic!("cannot append to {other}"),
            }
        } else {
            let value = edit.get("set").unwrap_or_else(|| panic!("an edit that does nothing: {edit}"));
            *reach(&mut document, &path) = value.clone();
        }
        files.insert(name.to_owned(), serde_json::to_vec_pretty(&document).unwrap());
    }
}

fn with(case: &Value) -> BTreeMap<String, Vec<u8>> {
    let mut files = valid_bundle();
    match case {
        Value::Array(edits) => edits.iter().for_each(|edit| apply(&mut files, edit)),
        edit => apply(&mut files, edit),
    }
    files
}

#[test]
fn the_valid_bundle_has_no_finding() {
    assert_eq!(findings(&valid_bundle()), []);
}

/// A rule's fixture, validated.
struct Fixture {
    /// Rules that its cases may break as well.
    also: Vec<String>,
    fail: Vec<Case>,
    pass: Vec<Case>,
}

struct Case {
    edits: Value,
    findings: Vec<Finding>,
}

/// The fixtures of all rules; none where the file is missing.
static FIXTURES: LazyLock<BTreeMap<&'static str, Option<Fixture>>> = LazyLock::new(|| {
    let fixture = |id: &str| {
        let fixture = yaml(&fs::read(fixtures().join("rules").join(format!("{id}.yaml"))).ok()?);
        let list = |name: &str| fixture[name].as_array().cloned().unwrap_or_default();
        let cases = |name| {
            list(name).into_iter().map(|edits| Case { findings: findings(&with(&edits)), edits }).collect()
        };
        let also = list("also").iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Some(Fixture { also, fail: cases("fail"), pass: cases("pass") })
    };
    rules::all().map(|rule| (rule.id, fixture(rule.id))).collect()
});

#[test]
fn every_rule_finds_its_failing_fixtures_and_no_passing_one() {
    let mut wrong = Vec::new();
    for rule in rules::all() {
        let Some(fixture) = &FIXTURES[rule.id] else {
            wrong.push(format!("{}: no fixture", rule.id));
            continue;
        };
        for (list, cases) in [("fail", &fixture.fail), ("pass", &fixture.pass)] {
            if cases.is_empty() {
                wrong.push(format!("{}: no case in `{list}`", rule.id));
            }
            for Case { edits, findings } in cases {
                let found = findings.iter().filter(|finding| finding.rule == rule.id).count();
                if (found > 0) != (list == "fail") {
                    wrong.push(format!("{}: {found} findings in `{list}`: {edits}", rule.id));
                }
                // One defect is one finding in a suite; what a case may break as well is in `also`.
                for other in findings.iter().filter(|finding| {
                    finding.rule != rule.id
                        && finding.severity == Severity::Error
                        && finding.suite == rule.suite
                        && !fixture.also.iter().any(|id| *id == finding.rule)
                }) {
                    wrong.push(format!("{}: {edits} also gives {}: {}", rule.id, other.rule, other.message));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What people read of each rule's failing fixtures; `INSTA_UPDATE=always` accepts a changed wording.
#[test]
fn rendered_findings() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/findings");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (id, fixture) in &*FIXTURES {
        let mut rendered = Vec::new();
        for case in fixture.iter().flat_map(|fixture| &fixture.fail) {
            let findings = case.findings.iter().filter(|finding| finding.rule == *id).cloned().collect();
            let report =
                report::BundleReport { path: "bundle".to_owned(), name: None, package: None, findings };
            report::text(&[report], &[], &mut rendered).unwrap();
        }
        settings.bind(|| insta::assert_snapshot!(*id, String::from_utf8(rendered).unwrap()));
    }
}

#[test]
fn every_fixture_belongs_to_a_rule() {
    for entry in fs::read_dir(fixtures().join("rules")).unwrap() {
        let path = entry.unwrap().path();
        let id = path.file_stem().unwrap().to_str().unwrap();
        assert!(rules::find(id).is_some(), "{} belongs to no rule", path.display());
    }
}
