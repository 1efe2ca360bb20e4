//! The scorecard's configuration: from the input, or else from the existing bundle.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::input::Collected;
use super::report::{GenerateReport, ObjectOutcome};

/// Where the configuration lies in a bundle.
pub(crate) const PATH: &str = "tests/scorecard/config.yaml";

pub(crate) fn file(
    collected: &Collected,
    previous: &BTreeMap<String, Vec<u8>>,
    wanted: bool,
    report: &mut GenerateReport,
) -> Option<Vec<u8>> {
    match collected.scorecards.first() {
        Some(item) => {
            report.record(item.source, ObjectOutcome::File(PATH.to_owned()));
            Some(kube_yaml::emit(&item.json).into_bytes())
        }
        None => {
            previous.get(PATH).cloned().or_else(|| wanted.then(|| kube_yaml::emit(&usual()).into_bytes()))
        }
    }
}

/// The image of the usual tests.
const IMAGE: &str = "quay.io/operator-framework/scorecard-test:v1.42.3";

/// The tests that operator-sdk's projects begin with.
fn usual() -> Json {
    let test = |suite: &str, name: &str| {
        json!({
            "entrypoint": ["scorecard-test", name],
            "image": IMAGE,
            "labels": {"suite": suite, "test": format!("{name}-test")},
            "storage": {"spec": {"mountPath": {}}},
        })
    };
    let mut tests = vec![test("basic", "basic-check-spec")];
    tests.extend(
        [
            "olm-bundle-validation",
            "olm-crds-have-validation",
            "olm-crds-have-resources",
            "olm-spec-descriptors",
            "olm-status-descriptors",
        ]
        .map(|name| test("olm", name)),
    );
    json!({
        "apiVersion": "scorecard.operatorframework.io/v1alpha3",
        "kind": "Configuration",
        "metadata": {"name": "config"},
        "stages": [{"parallel": true, "tests": tests}],
        "storage": {"spec": {"mountPath": {}}},
    })
}
