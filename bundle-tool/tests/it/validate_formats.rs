//! The formats of `bundle-tool validate`: each against its schema, as far as it says something about what is printed, and
//! several at once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::{Value, json};

use crate::project::stdout;
use crate::schema;
use crate::support::copy_bundle;

fn run(args: &[&str]) -> Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

/// A bundle with errors, warnings and an ignored finding, in files whose names need escapes.
fn bundle(dir: &Path) -> PathBuf {
    let bundle = copy_bundle(dir.join("a bundle, \"50%\""));
    fs::write(
        bundle.join("manifests/job <1>.yaml"),
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: \"x&y\"}\n",
    )
    .unwrap();
    fs::write(
        bundle.join("manifests/twice.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  name: y\n",
    )
    .unwrap();
    fs::write(
        bundle.join("manifests/ignored.yaml"),
        "apiVersion: v1\nkind: Pod # bundle-tool: ignore[unsupported-kind] created later\nmetadata: {name: x}\n",
    )
    .unwrap();
    bundle
}

fn validate(dir: &Path, format: &str) -> String {
    let bundle = bundle(dir);
    let missing = dir.join("missing");
    stdout(&run(&["validate", "-o", format, bundle.to_str().unwrap(), missing.to_str().unwrap()]).code(2))
}

fn shared_schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn json_matches_its_schema() {
    let dir = tempfile::tempdir().unwrap();
    let document: Value = serde_json::from_str(&validate(dir.path(), "json")).unwrap();
    let schema = shared_schema("report.schema.json");
    assert_eq!(schema::errors(&schema, &document), Vec::<String>::new());
    let findings = document["bundles"][0]["findings"].as_array().unwrap();
    let ignored: Vec<_> = findings.iter().filter(|finding| !finding["ignored"].is_null()).collect();
    assert_eq!(ignored.len(), 1);
    assert_eq!(ignored[0]["ignored"], json!({"by": "comment", "reason": "created later"}));
    let twice = findings.iter().find(|finding| finding["rule"] == "yaml-duplicate-key").unwrap();
    assert_eq!(twice["related"][0]["line"], 4);
    assert_eq!((twice["column"].as_u64(), twice["endColumn"].as_u64()), (Some(3), Some(7)));
    // The schema is able to fail.
    let mut wrong = document.clone();
    wrong["bundles"][0]["findings"][0]["severity"] = json!("bad");
    wrong["bundles"][0]["extra"] = json!(1);
    assert_eq!(schema::errors(&schema, &wrong).len(), 2);
    let catalog = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/catalog");
    let catalog: Value =
        serde_json::from_str(&stdout(&run(&["validate", "-o", "json", catalog.to_str().unwrap()]))).unwrap();
    assert_eq!(schema::errors(&schema, &catalog), Vec::<String>::new());
    assert_eq!(catalog["catalogs"].as_array().unwrap().len(), 1, "{catalog}");
}

#[test]
fn json_alpha1_equals_that_of_operator_sdk() {
    let dir = tempfile::tempdir().unwrap();
    let text = validate(dir.path(), "json-alpha1");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["passed"], false);
    assert!(text.starts_with(
        "{\n    \"passed\": false,\n    \"outputs\": [\n        {\n            \"type\": \"error\",\n"
    ));
    for output in document["outputs"].as_array().unwrap() {
        assert!(matches!(output["type"].as_str(), Some("error" | "warning" | "info")), "{output}");
        assert!(!output["message"].as_str().unwrap().is_empty());
        assert_eq!(output.as_object().unwrap().len(), 2);
    }
    assert!(!text.contains("ignored.yaml"), "{text}");
    let valid = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle");
    let text = stdout(&run(&["validate", "-o", "json-alpha1", valid.to_str().unwrap()]).success());
    assert_eq!(text, "{\n    \"passed\": true,\n    \"outputs\": null\n}\n");
}

/// What the SARIF 2.1.0 schema requires of the objects that are printed: which properties they must have and may have.
#[test]
fn sarif_has_the_structure_of_its_schema() {
    let dir = tempfile::tempdir().unwrap();
    let log: Value = serde_json::from_str(&validate(dir.path(), "sarif")).unwrap();
    let text = json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}, "additionalProperties": false});
    let level = json!({"enum": ["none", "note", "warning", "error"]});
    let location = json!({
        "type": "object", "additionalProperties": false, "required": ["physicalLocation"],
        "properties": {
            "id": {"type": "integer", "minimum": 0},
            "message": text,
            "physicalLocation": {
                "type": "object", "additionalProperties": false, "required": ["artifactLocation"],
                "properties": {
                    "artifactLocation": {
                        "type": "object", "additionalProperties": false, "required": ["uri"],
                        "properties": {"uri": {"type": "string", "pattern": "^[^ \"<>%#?\\\\]*(%[0-9A-F]{2}[^ \"<>%#?\\\\]*)*$"}},
                    },
                    "region": {
                        "type": "object", "additionalProperties": false, "required": ["startLine"],
                        "properties": {
                            "startLine": {"type": "integer", "minimum": 1},
                            "startColumn": {"type": "integer", "minimum": 1},
                            "endColumn": {"type": "integer", "minimum": 1},
                        },
                    },
                },
            },
            "logicalLocations": {"type": "array", "items": {
                "type": "object", "additionalProperties": false,
                "properties": {"fullyQualifiedName": {"type": "string"}, "kind": {"type": "string"}},
            }},
        },
    });
    let rule = json!({
        "type": "object", "additionalProperties": false, "required": ["id"],
        "properties": {
            "id": {"type": "string"}, "shortDescription": text, "fullDescription": text, "help": text,
            "defaultConfiguration": {"type": "object", "additionalProperties": false, "properties": {"level": level}},
            "properties": {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}},
        },
    });
    let result = json!({
        "type": "object", "additionalProperties": false, "required": ["message"],
        "properties": {
            "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0}, "level": level, "message": text,
            "locations": {"type": "array", "items": location}, "relatedLocations": {"type": "array", "items": location},
            "suppressions": {"type": "array", "items": {
                "type": "object", "additionalProperties": false, "required": ["kind"],
                "properties": {"kind": {"enum": ["inSource", "external"]}, "justification": {"type": "string"}},
            }},
        },
    });
    let schema = json!({
        "type": "object", "required": ["version", "runs"], "additionalProperties": false,
        "properties": {
            "$schema": {"type": "string"},
            "version": {"const": "2.1.0"},
            "runs": {"type": "array", "items": {
                "type": "object", "required": ["tool"], "additionalProperties": false,
                "properties": {
                    "tool": {"type": "object", "required": ["driver"], "additionalProperties": false, "properties": {"driver": {
                        "type": "object", "required": ["name"], "additionalProperties": false,
                        "properties": {
                            "name": {"type": "string"},
                            "semanticVersion": {"type": "string"},
                            "rules": {"type": "array", "items": rule},
                        },
                    }}},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {"type": "array", "items": {
                        "type": "object", "required": ["executionSuccessful"], "additionalProperties": false,
                        "properties": {
                            "executionSuccessful": {"type": "boolean"},
                            "toolExecutionNotifications": {"type": "array", "items": {
                                "type": "object", "required": ["message"], "additionalProperties": false,
                                "properties": {"level": level, "message": text},
                            }},
                        },
                    }},
                    "results": {"type": "array", "items": result},
                },
            }},
        },
    });
    assert_eq!(schema::errors(&schema, &log), Vec::<String>::new());
    let run = &log["runs"][0];
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: BTreeSet<_> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len());
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let suppressed: Vec<_> = run["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|result| result["suppressions"][0]["kind"].as_str())
        .collect();
    assert_eq!(suppressed, ["inSource"]);
}

/// An element of XML: its name, its attributes and its parent.
type Element = (String, Vec<(String, String)>, Option<String>);

/// A small reader of XML: checks that elements are closed in order, and returns each with its attributes and its parent.
fn elements(xml: &str) -> Vec<Element> {
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "{}", &rest[..start]);
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
        } else {
            let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let mut all = Vec::new();
            while !attributes.is_empty() {
                let (key, value) = attributes.split_once("=\"").unwrap();
                let (value, others) = value.split_once('"').unwrap();
                assert!(!value.contains('&') || value.contains(';'), "{value}");
                all.push((key.to_owned(), value.to_owned()));
                attributes = others.trim_start();
            }
            found.push((name.to_owned(), all, open.last().cloned()));
            open.push(name.to_owned());
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    found
}

#[test]
fn junit_has_the_structure_that_readers_share() {
    let dir = tempfile::tempdir().unwrap();
    let xml = validate(dir.path(), "junit");
    let elements = elements(&xml);
    for (name, attributes, parent) in &elements {
        let (of, required): (_, &[&str]) = match name.as_str() {
            "testsuites" => (None, &["name", "tests", "failures", "errors"]),
            "testsuite" => (Some("testsuites"), &["name", "tests", "failures", "errors", "skipped"]),
            "testcase" => (Some("testsuite"), &["name", "classname"]),
            "failure" | "error" => (Some("testcase"), &["message", "type"]),
            "system-out" => (Some("testcase"), &[]),
            other => panic!("{other}"),
        };
        assert_eq!(parent.as_deref(), of, "{name}");
        let names: Vec<_> = attributes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, required, "{name}");
    }
    let count = |name: &str| elements.iter().filter(|(other, ..)| other == name).count().to_string();
    let all = &elements[0].1;
    assert_eq!((&all[1].1, &all[2].1, &all[3].1), (&count("testcase"), &count("failure"), &count("error")));
    assert!(xml.contains("job &lt;1&gt;.yaml"), "{xml}");
    assert!(!xml.contains("ignored.yaml"), "{xml}");
}

#[test]
fn github_output_has_one_command_for_each_finding() {
    let dir = tempfile::tempdir().unwrap();
    let text = validate(dir.path(), "github");
    for line in text.lines() {
        let (properties, message) = line
            .strip_prefix("::error ")
            .or(line.strip_prefix("::warning "))
            .unwrap()
            .split_once("::")
            .unwrap();
        assert!(!message.is_empty());
        for property in properties.split(',') {
            let (name, value) = property.split_once('=').unwrap();
            assert!(matches!(name, "file" | "line" | "col" | "endLine" | "endColumn" | "title"), "{line}");
            assert!(!value.contains([':', ',']), "{line}");
        }
    }
    assert!(text.contains("a bundle%2C \"50%25\"/manifests/job <1>.yaml,line="), "{text}");
    assert!(!text.contains("ignored.yaml"), "{text}");
}

#[test]
fn reports_in_several_formats_are_written_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = bundle(dir.path());
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let sarif = format!("sarif={}", file("a.sarif"));
    let text = format!("text={}", file("a.txt"));
    let bundle = bundle.to_str().unwrap();
    let args = ["validate", bundle, "-o", "json", "--output-file", &sarif, "--output-file", &text];
    let json: Value = serde_json::from_str(&stdout(&run(&args).code(1))).unwrap();
    let sarif: Value = serde_json::from_slice(&fs::read(file("a.sarif")).unwrap()).unwrap();
    assert_eq!(
        json["bundles"][0]["findings"].as_array().unwrap().len(),
        sarif["runs"][0]["results"].as_array().unwrap().len()
    );
    let text = fs::read_to_string(file("a.txt")).unwrap();
    assert_eq!(text, stdout(&run(&["validate", bundle]).code(1)));
    for (argument, expected) in [
        ("sarif", "expected FORMAT=PATH"),
        ("json=-", "--output json prints to standard output"),
        ("srif=x", "unknown format `srif`: did you mean `sarif`?"),
    ] {
        let assert = run(&["validate", bundle, "--output-file", argument]).code(2);
        let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(message.contains(expected), "{message}");
    }
    let twice = format!("json={}", file("b"));
    run(&["validate", bundle, "--output-file", &twice, "--output-file", &twice]).code(2);
    let same = format!("sarif={}/./b", dir.path().display());
    run(&["validate", bundle, "--output-file", &twice, "--output-file", &same]).code(2);
    run(&["validate", bundle, "--output-file", "json=/dev/null", "--output-file", "sarif=/dev/null"]).code(1);
    // What is validated is no place for a report.
    let input = format!("{bundle}/metadata/annotations.yaml");
    let before = fs::read(&input).unwrap();
    let assert = run(&["validate", bundle, "--output-file", &format!("json={input}")]).code(2);
    let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert_eq!(message, format!("error: --output-file would overwrite {input}, which is validated\n"));
    assert_eq!(fs::read(&input).unwrap(), before);
    let beside = format!("json={bundle}/report.json");
    run(&["validate", bundle, "--output-file", &beside]).code(1);
    run(&["validate", bundle, "--output-file", &beside]).code(1);
}

/// The pattern of VS Code's task finds every finding of the text.
#[test]
fn problem_matcher_reads_the_text() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/integrations/vscode-tasks.json");
    let tasks: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let pattern = &tasks["tasks"][0]["problemMatcher"]["pattern"];
    let regex = |index: usize| regex::Regex::new(pattern[index]["regexp"].as_str().unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let bundle = bundle(dir.path());
    let bundle = bundle.to_str().unwrap();
    let text = stdout(&run(&["validate", bundle]).code(1));
    let lines: Vec<_> = text.lines().collect();
    let (title, place) = (regex(0), regex(1));
    let mut found = Vec::new();
    for pair in lines.windows(2) {
        if let (Some(title), Some(place)) = (title.captures(pair[0]), place.captures(pair[1])) {
            found.push((title[2].to_owned(), place[1].to_owned(), place[2].parse::<u64>().unwrap()));
        }
    }
    let json: Value =
        serde_json::from_str(&stdout(&run(&["validate", "-o", "json", bundle]).code(1))).unwrap();
    let mut expected: Vec<_> = json["bundles"][0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["ignored"].is_null() && finding["line"].is_u64())
        .map(|finding| {
            let file = format!("{bundle}/{}", finding["file"].as_str().unwrap());
            (finding["rule"].as_str().unwrap().to_owned(), file, finding["line"].as_u64().unwrap())
        })
        .collect();
    found.sort();
    expected.sort();
    assert!(expected.len() > 1);
    assert_eq!(found, expected, "{text}");
}

#[test]
fn pre_commit_hook_validates_the_bundle_of_a_repository() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.pre-commit-hooks.yaml");
    let hook = fs::read_to_string(path).unwrap();
    let value = |key: &str| {
        let line = hook.lines().find_map(|line| line.trim_start().strip_prefix(key));
        line.unwrap().trim_matches(['[', ']']).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let command = [value("entry: "), value("args: ")].concat();
    let repository = tempfile::tempdir().unwrap();
    let validated = || {
        let (program, arguments) = command.split_first().unwrap();
        Command::cargo_bin(program).unwrap().current_dir(repository.path()).args(arguments).assert()
    };
    let bundle = copy_bundle(repository.path().join("bundle"));
    fs::write(repository.path().join("Makefile"), "").unwrap();
    validated().code(0);
    fs::write(bundle.join("manifests/bad.yaml"), "kind: [").unwrap();
    validated().code(1);
}
