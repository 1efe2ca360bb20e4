//! JSON in strings of a CSV: examples and properties, in quotes and in a block.

#![no_main]

use std::collections::BTreeMap;

use kube_yaml::emit;
use libfuzzer_sys::fuzz_target;
use olm_model::read::bundle;
use olm_model::report::Suite;
use olm_rules::Selection;
use serde_json::json;

const CRD: &str = include_str!(
    "../../crates/olm-rules/tests/fixtures/bundle/manifests/gizmos.gadgets.example.com.crd.yaml"
);

fuzz_target!(|text: &str| {
    let csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": "gizmo-operator.v1.2.0",
            "annotations": {"alm-examples": text, "olm.properties": text, "olm.constraints": text},
        },
        "spec": {"customresourcedefinitions": {"owned": [
            {"name": "gizmos.gadgets.example.com", "kind": "Gizmo", "version": "v1"},
        ]}},
    });
    let selection = Selection { suites: Suite::ALL.to_vec(), ..Selection::default() };
    for csv in [csv.to_string(), emit(&csv)] {
        let files = BTreeMap::from([
            ("manifests/csv.yaml".to_owned(), csv.into_bytes()),
            ("manifests/crd.yaml".to_owned(), CRD.as_bytes().to_vec()),
        ]);
        let _ = olm_rules::validate(&bundle::files("bundle", &files), &selection);
    }
});
