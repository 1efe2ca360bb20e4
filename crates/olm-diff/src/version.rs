//! One version of an operator.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::bundle::{Dependencies, Summary, api_name, converted_crds, limits};
use super::immutable;
use kube_yaml::Value;
use olm_model::file::MANIFESTS;
use olm_model::{Annotations, Bundle};

/// The parts of one version of an operator that upgrades are compared by.
#[derive(Debug)]
pub struct Version {
    /// CRDs of `apiextensions.k8s.io/v1` by name.
    pub(crate) crds: BTreeMap<String, Json>,
    /// The names of the CRDs that conversion webhooks of the CSV convert.
    converted: Vec<String>,
    pub(crate) summary: Summary,
    /// The objects that OLM updates in place, with the Deployments of the CSV.
    pub(crate) objects: immutable::Objects,
    /// What `metadata/` requires.
    pub(crate) dependencies: Dependencies,
    /// The package of a bundle; empty if it is not known.
    pub(crate) package: String,
    /// The channels of a bundle, and its properties that limit where it is installed, each as one line.
    pub(crate) catalog_metadata: BTreeSet<String>,
    /// The size of the files in `manifests/`, in bytes; of a bundle.
    pub(crate) manifests_size: Option<u64>,
}

impl Version {
    /// Reads the parts from a bundle.
    #[must_use]
    pub fn of_bundle(bundle: &Bundle) -> Self {
        let manifests = bundle.files.iter().filter(|file| file.path.starts_with(MANIFESTS));
        let manifests_size = Some(manifests.map(|file| file.size).sum());
        let version = Self::of_objects(bundle.objects().map(|object| object.root));
        let annotations = bundle.annotations();
        let package = annotations.as_ref().and_then(|annotations| annotations.get(Annotations::PACKAGE));
        let channels = annotations.iter().flat_map(Annotations::channels);
        let mut catalog_metadata: BTreeSet<_> = channels.map(|name| format!("channel `{name}`")).collect();
        catalog_metadata.extend(limits(bundle));
        Self {
            manifests_size,
            dependencies: Dependencies::new(bundle),
            package: package.unwrap_or_default().to_owned(),
            catalog_metadata,
            ..version
        }
    }

    /// Reads the parts from objects: CRDs, and the CSV if there is one. The last one of several with the same name wins.
    #[must_use]
    pub fn of_objects<'o>(objects: impl Iterator<Item = Value<'o>>) -> Self {
        let mut crds = BTreeMap::new();
        let mut summary = Summary::default();
        let mut converted = Vec::new();
        let mut updated = immutable::Objects::new();
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
                    for deployment in &summary.deployments {
                        immutable::insert(&mut updated, deployment.clone());
                    }
                }
                _ => immutable::insert(&mut updated, object.to_json()),
            }
        }
        Self {
            crds,
            converted,
            summary,
            objects: updated,
            dependencies: Dependencies::default(),
            package: String::new(),
            catalog_metadata: BTreeSet::new(),
            manifests_size: None,
        }
    }

    /// Returns the CRDs of `apiextensions.k8s.io/v1` by name, with the conversion webhooks of the CSV, which OLM v1 sets up in
    /// them before it compares them (`BundleCRDGenerator` of operator-controller).
    #[must_use]
    pub fn into_crds(mut self) -> BTreeMap<String, Json> {
        self.set_up_conversions();
        self.crds
    }

    pub(crate) fn set_up_conversions(&mut self) {
        for name in &self.converted {
            let Some(spec) = self.crds.get_mut(name).and_then(|crd| crd.get_mut("spec")) else { continue };
            if spec.is_object() {
                spec["conversion"] = serde_json::json!({"strategy": "Webhook"});
            }
        }
    }

    /// Returns the names of the CRDs whose manifest configures conversion although a webhook of the CSV converts them. OLM first
    /// applies the manifest as it is: until it has set up its own webhook, the API server calls what the manifest names.
    pub(crate) fn conflicting_conversions(&self) -> impl Iterator<Item = &String> {
        self.converted.iter().filter(|name| {
            self.crds.get(*name).is_some_and(|crd| crd["spec"]["conversion"]["webhook"].is_object())
        })
    }

    /// Returns the names of the CRDs that have a version, and whether each stores its objects in it.
    #[must_use]
    pub fn crds_with_version(&self, version: &str) -> Vec<(&str, bool)> {
        let with_version =
            self.crds.iter().filter(|(_, crd)| super::crd::version_names(crd).contains(version));
        let is_storage = |crd: &Json| super::crd::storage_versions(crd).iter().any(|name| name == version);
        with_version.map(|(name, crd)| (name.as_str(), is_storage(crd))).collect()
    }

    /// Returns the names of the APIs that CRDs serve.
    pub(crate) fn served_apis(&self) -> BTreeSet<String> {
        let apis = |crd: &Json| -> Vec<String> {
            let spec = &crd["spec"];
            let versions = spec["versions"].as_array().into_iter().flatten();
            let served = versions.filter(|version| version["served"] == true);
            served.map(|version| api_name(&spec["names"]["kind"], &spec["group"], &version["name"])).collect()
        };
        self.crds.values().flat_map(apis).collect()
    }

    /// Whether there is a CRD with this name.
    #[must_use]
    pub fn has_crd(&self, name: &str) -> bool {
        self.crds.contains_key(name)
    }

    /// Whether there is neither a CRD nor a CSV.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.crds.is_empty() && self.summary.name.is_empty()
    }
}
