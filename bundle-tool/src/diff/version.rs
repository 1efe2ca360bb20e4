//! One version of an operator.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::bundle::{Summary, converted_crds};
use crate::model::Bundle;
use crate::model::file::MANIFESTS;
use crate::model::yaml::Value;

/// The parts of one version of an operator that upgrades are compared by.
#[derive(Debug)]
pub struct Version {
    /// CRDs of `apiextensions.k8s.io/v1` by name.
    pub(super) crds: BTreeMap<String, Json>,
    /// The names of the CRDs that conversion webhooks of the CSV convert.
    converted: Vec<String>,
    pub(super) summary: Summary,
    /// The size of the files in `manifests/`, in bytes; of a bundle.
    pub(super) manifests_size: Option<u64>,
}

impl Version {
    /// Reads the parts from a bundle.
    #[must_use]
    pub fn of_bundle(bundle: &Bundle) -> Self {
        let manifests = bundle.files.iter().filter(|file| file.path.starts_with(MANIFESTS));
        let manifests_size = Some(manifests.map(|file| file.size).sum());
        Self { manifests_size, ..Self::of_objects(bundle.objects().map(|object| object.root)) }
    }

    /// Reads the parts from objects: CRDs, and the CSV if there is one. The last one of several with the same name wins.
    #[must_use]
    pub fn of_objects<'o>(objects: impl Iterator<Item = Value<'o>>) -> Self {
        let mut crds = BTreeMap::new();
        let mut summary = Summary::default();
        let mut converted = Vec::new();
        for object in objects {
            let field = |name| object.get(name).map(Value::text).unwrap_or_default();
            match (field("apiVersion"), field("kind")) {
                ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => {
                    let name = object.dig(&["metadata", "name"]).map(Value::text).unwrap_or_default();
                    crds.insert(name.to_owned(), object.to_json());
                }
                (_, "ClusterServiceVersion") => {
                    summary = Summary::new(object);
                    converted = converted_crds(object);
                }
                _ => {}
            }
        }
        Self { crds, converted, summary, manifests_size: None }
    }

    /// Returns the CRDs of `apiextensions.k8s.io/v1` by name, with the conversion webhooks of the CSV, which OLM v1 sets up in
    /// them before it compares them (`BundleCRDGenerator` of operator-controller).
    #[must_use]
    pub fn into_crds(mut self) -> BTreeMap<String, Json> {
        self.set_up_conversions();
        self.crds
    }

    pub(super) fn set_up_conversions(&mut self) {
        for name in &self.converted {
            let Some(spec) = self.crds.get_mut(name).and_then(|crd| crd.get_mut("spec")) else { continue };
            if spec.is_object() {
                spec["conversion"] = serde_json::json!({"strategy": "Webhook"});
            }
        }
    }

    /// Whether there is neither a CRD nor a CSV.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.crds.is_empty() && self.summary.name.is_empty()
    }
}
