//! The samples of a test: those of a file, or the examples of the operator.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::Value;

use olm_model::csv::{ClusterServiceVersion, CrdDescription};
use olm_model::disk;
use olm_rules::scorecard;

/// The maximum number of samples.
const MAX_SAMPLES: usize = 100;

/// Reads the samples of --samples, each of which has to name what it is.
pub(crate) fn of_file(path: &Path) -> Result<Vec<Value>> {
    let documents = disk::manifests::file(path)?;
    if documents.is_empty() || documents.len() > MAX_SAMPLES {
        bail!("{} contains {} samples: expected 1 to {MAX_SAMPLES}", path.display(), documents.len());
    }
    documents
        .iter()
        .enumerate()
        .map(|(index, document)| {
            let sample = document.tree.root().to_json();
            for key in ["/apiVersion", "/kind", "/metadata/name"] {
                if sample.pointer(key).and_then(Value::as_str).is_none_or(str::is_empty) {
                    let (key, number) = (key[1..].replace('/', "."), index + 1);
                    bail!("sample {number} of {} has no {key}", path.display());
                }
            }
            Ok(sample)
        })
        .collect()
}

/// Returns the examples of the kinds that an operator owns, and appends to `notes` which are omitted.
pub(crate) fn of_operator(csv: &ClusterServiceVersion, notes: &mut Vec<String>) -> Result<Vec<Value>> {
    let mut examples = scorecard::examples(csv).map_err(anyhow::Error::msg)?;
    let all = examples.len();
    let owned = &csv.spec.customresourcedefinitions.owned;
    examples.retain(|example| owned.iter().any(|crd| is_of(example, crd)));
    let foreign = all - examples.len();
    if foreign > 0 {
        notes.push(format!(
            "{foreign} of {all} objects in alm-examples are of kinds that the operator does not own, and were not created"
        ));
    }
    if examples.is_empty() {
        notes.push(
            "there are no samples: only the upgrade itself is tested; pass samples with --samples".into(),
        );
    }
    let more = examples.len().saturating_sub(MAX_SAMPLES);
    if more > 0 {
        notes.push(format!(
            "{more} objects in alm-examples exceed the limit of {MAX_SAMPLES}, and were not created"
        ));
    }
    examples.truncate(MAX_SAMPLES);
    Ok(examples)
}

/// Returns whether an object is of the group and the kind of a CRD.
fn is_of(object: &Value, crd: &CrdDescription) -> bool {
    let group = object["apiVersion"].as_str().and_then(|version| Some(version.split_once('/')?.0));
    object["kind"] == crd.kind && group == crd.name.split_once('.').map(|(_, group)| group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn csv(examples: &Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": "gizmo", "annotations": {"alm-examples": examples.to_string()}},
            "spec": {"customresourcedefinitions": {"owned": [
                {"name": "gizmos.gadgets.example.com", "version": "v1", "kind": "Gizmo"}]}},
        }))
        .unwrap()
    }

    #[test]
    fn examples_of_other_groups_and_above_the_limit_are_noted() {
        let gizmo = json!({"apiVersion": "gadgets.example.com/v1", "kind": "Gizmo"});
        let foreign = json!({"apiVersion": "example.com/v1", "kind": "Gizmo"});
        let core = json!({"apiVersion": "v1", "kind": "Gizmo"});
        let mut notes = Vec::new();
        let found = of_operator(&csv(&json!([foreign, gizmo, core])), &mut notes).unwrap();
        assert_eq!(found, std::slice::from_ref(&gizmo));
        assert_eq!(
            notes,
            [
                "2 of 3 objects in alm-examples are of kinds that the operator does not own, and were not created"
            ]
        );
        notes.clear();
        let found = of_operator(&csv(&json!(vec![gizmo; 103])), &mut notes).unwrap();
        assert_eq!(found.len(), MAX_SAMPLES);
        assert_eq!(notes, ["3 objects in alm-examples exceed the limit of 100, and were not created"]);
    }
}
