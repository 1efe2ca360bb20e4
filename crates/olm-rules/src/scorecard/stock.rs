//! The six stock tests.

use serde_json::{Map, Value};

use super::test::{State, TestResult};
use crate::Selection;
use olm_model::Bundle;
use olm_model::csv::{ClusterServiceVersion, CrdDescription};
use olm_model::report::Severity;

/// The names of the stock tests.
pub const STOCK: [&str; 6] = [
    "basic-check-spec",
    "olm-bundle-validation",
    "olm-crds-have-validation",
    "olm-crds-have-resources",
    "olm-spec-descriptors",
    "olm-status-descriptors",
];

/// Runs a stock test; `None` if there is none of this name.
#[must_use]
pub fn stock_test(name: &str, bundle: &Bundle) -> Option<TestResult> {
    let name = *STOCK.iter().find(|one| **one == name)?;
    let mut result = TestResult::new(name);
    if name == "olm-bundle-validation" {
        return Some(validation(bundle, result));
    }
    let Some(object) = bundle.csv() else {
        return Some(result.error("the bundle contains no ClusterServiceVersion".into()));
    };
    let csv = match object.decode::<ClusterServiceVersion>() {
        Ok(decoded) => decoded.object,
        Err(error) => return Some(result.error(format!("failed to decode {}: {error}", object.file.path))),
    };
    if name != "basic-check-spec" {
        result.log = format!("Loaded ClusterServiceVersion: {}\n", object.name());
    }
    if name == "olm-crds-have-resources" {
        let owned = csv.spec.customresourcedefinitions.owned.iter();
        let without: Vec<&str> =
            owned.filter(|owned| owned.resources.is_empty()).map(|owned| owned.name.as_str()).collect();
        if !without.is_empty() {
            result.fail("Owned CRDs do not have resources specified".into());
            for name in without {
                result.suggestions.push(format!("add resources to the owned CRD {name}"));
            }
        }
        return Some(result);
    }
    let examples = match examples(&csv) {
        Ok(examples) => examples,
        Err(error) if name == "basic-check-spec" => {
            result.fail(format!("error getting custom resources: {error}"));
            return Some(result);
        }
        Err(error) => return Some(result.error(error)),
    };
    let owned = &csv.spec.customresourcedefinitions.owned;
    match name {
        "basic-check-spec" => {
            for example in examples.iter().filter(|example| field(example, "spec").is_none()) {
                result.suggestions.push(format!(
                    "add a spec to the example of custom resource `{}`",
                    example_name(example)
                ));
            }
        }
        "olm-crds-have-validation" => crds_have_validation(bundle, &examples, &mut result),
        "olm-spec-descriptors" => {
            for example in &examples {
                spec_descriptors(example, owned, &mut result);
            }
        }
        _ => {
            for example in &examples {
                status_descriptors(example, owned, &mut result);
            }
        }
    }
    result.log.push_str(&format_count(examples.len()));
    Some(result)
}

fn format_count(number: usize) -> String {
    format!("Loaded {number} Custom Resources from alm-examples\n")
}

fn validation(bundle: &Bundle, mut result: TestResult) -> TestResult {
    let report = crate::validate(bundle, &Selection::default());
    for finding in &report.findings {
        let place = match (&finding.file, finding.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            _ => String::new(),
        };
        let text = format!("{place}{} [{}]", finding.message, finding.rule);
        match finding.severity {
            Severity::Error => result.fail(text),
            Severity::Warning => result.suggestions.push(text),
            Severity::Info => {}
        }
    }
    result
}

/// Returns the objects in the annotation `alm-examples`.
///
/// # Errors
/// The annotation is not a list of objects with a kind.
pub fn examples(csv: &ClusterServiceVersion) -> Result<Vec<Value>, String> {
    let annotations = csv.metadata.annotations.as_ref();
    let text = annotations.and_then(|all| all.get("alm-examples")).map_or("", String::as_str);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let invalid = |reason: String| format!("failed to parse alm-examples annotation: {reason}");
    let list: Vec<Value> = kube_yaml::json::from_str(text).map_err(|error| invalid(error.to_string()))?;
    match list.iter().find(|one| one["kind"].as_str().is_none_or(str::is_empty)) {
        Some(_) => Err(invalid("Object 'Kind' is missing".into())),
        None => Ok(list),
    }
}

fn field<'v>(example: &'v Value, name: &str) -> Option<&'v Map<String, Value>> {
    example.get(name)?.as_object()
}

fn example_name(example: &Value) -> &str {
    example["metadata"]["name"].as_str().unwrap_or_default()
}

fn owner<'c>(
    example: &Value,
    owned: &'c [CrdDescription],
    result: &mut TestResult,
) -> Option<&'c CrdDescription> {
    let kind = example["kind"].as_str().unwrap_or_default();
    let found = owned.iter().find(|one| one.kind == kind);
    if found.is_none() {
        let api = example["apiVersion"].as_str().unwrap_or_default();
        result.fail(format!(
            "Failed to find an owned CRD for CR {} with GVK {api}, Kind={kind}",
            example_name(example)
        ));
    }
    found
}

fn spec_descriptors(example: &Value, owned: &[CrdDescription], result: &mut TestResult) {
    let Some(spec) = field(example, "spec") else {
        result.fail(format!("custom resource {} has no spec", example_name(example)));
        return;
    };
    let Some(crd) = owner(example, owned, result) else { return };
    for key in spec.keys().filter(|key| !crd.spec_descriptors.iter().any(|one| one.path == **key)) {
        result.fail(format!("{key} does not have a spec descriptor"));
        result.suggestions.push(format!("Add a spec descriptor for {key}"));
    }
}

fn status_descriptors(example: &Value, owned: &[CrdDescription], result: &mut TestResult) {
    let Some(crd) = owner(example, owned, result) else { return };
    if field(example, "status").is_none_or(Map::is_empty) {
        result.suggestions.push(format!("{} does not have status spec", crd.name));
    } else if crd.status_descriptors.is_empty() {
        result.fail(format!("{} does not have a status descriptor", crd.name));
        result.suggestions.push(format!("add status descriptor for the crd {}", crd.name));
    }
}

fn crds_have_validation(bundle: &Bundle, examples: &[Value], result: &mut TestResult) {
    let crds: Vec<Value> = bundle.of_kind("CustomResourceDefinition").map(|crd| crd.root.to_json()).collect();
    for example in examples {
        let kind = example["kind"].as_str().unwrap_or_default();
        let api = example["apiVersion"].as_str().unwrap_or_default();
        let version = api.rsplit('/').next().unwrap_or_default();
        for crd in &crds {
            if !kind.eq_ignore_ascii_case(crd["spec"]["names"]["kind"].as_str().unwrap_or_default()) {
                continue;
            }
            let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
            for one in versions
                .filter(|one| one["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(version)))
            {
                let schema = &one["schema"]["openAPIV3Schema"];
                if schema.is_null() {
                    result.suggestions.push(format!("Add CRD validation for {kind}/{version}"));
                    continue;
                }
                let mut missing = Vec::new();
                for part in ["spec", "status"] {
                    for key in field(example, part).into_iter().flat_map(Map::keys) {
                        if schema["properties"][part]["properties"].get(key).is_none() {
                            missing.push(format!(
                                "Add CRD validation for {part} field `{key}` in {kind}/{version}"
                            ));
                        }
                    }
                }
                if !missing.is_empty() {
                    result.suggestions.extend(missing);
                    result.state = State::Fail;
                    break;
                }
            }
        }
    }
}
