//! Makes the bundles of a catalog smaller: `olm.csv.metadata` instead of their objects, and of that only what is read.
//!
//! Source: `alpha/action/migrations` of operator-registry v1.73.

use serde_json::Value as Json;

use super::csv_metadata::CsvMetadata;
use super::error::RenderError;
use super::validate::base64_data;
use kube_yaml::go_json;
use kube_yaml::{Path, Tree, decode_ignoring_case, string};
use olm_model::catalog::{Bundle, Property};
use olm_model::csv::ClusterServiceVersion;

/// Replaces the objects of a bundle by the metadata of its CSV, if it has an image to get the objects from. `parse` parses
/// JSON or YAML. Returns whether the bundle was changed.
///
/// # Errors
/// The CSV among the objects cannot be decoded.
pub fn migrate(bundle: &mut Bundle, parse: impl Fn(&[u8]) -> Option<Tree>) -> Result<bool, RenderError> {
    let has = |r#type: &str| bundle.properties.iter().any(|property| property.r#type == r#type);
    if bundle.image.is_empty() || has("olm.csv.metadata") || !has("olm.bundle.object") {
        return Ok(false);
    }
    let objects = bundle.properties.iter().filter(|property| property.r#type == "olm.bundle.object");
    let mut trees = objects.filter_map(|property| parse(&base64_data(property.value["data"].as_str()?)?));
    let Some(tree) = trees.find(|tree| string(tree.root(), "kind") == "ClusterServiceVersion") else {
        return Ok(false);
    };
    let csv = decode_ignoring_case::<ClusterServiceVersion>(tree.root(), &Path::ROOT)
        .map_err(|error| RenderError::Csv { file: format!("olm.bundle.object of {}", bundle.name), error })?
        .object;
    let value = serde_json::to_value(CsvMetadata::new(&csv))?;
    bundle.properties.retain(|property| property.r#type != "olm.bundle.object");
    bundle.properties.push(Property { r#type: "olm.csv.metadata".to_owned(), value });
    Ok(true)
}

/// What [`minimize`] omitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Omitted {
    /// How many bundles became smaller.
    pub bundles: usize,
    /// By how many bytes, as compact JSON.
    pub bytes: usize,
    /// How many had examples.
    pub examples: usize,
    /// How many of their APIs had descriptors or resources.
    pub apis: usize,
}

impl Omitted {
    /// Adds what was omitted from other bundles.
    pub fn add(&mut self, other: Self) {
        self.bundles += other.bundles;
        self.bytes += other.bytes;
        self.examples += other.examples;
        self.apis += other.apis;
    }
}

/// Removes what consoles do not read before an operator is installed from `olm.csv.metadata`: the examples, and of the APIs
/// the descriptors and resources. Consoles read these from the CSV in the cluster.
pub fn minimize(bundle: &mut Bundle) -> Omitted {
    let mut omitted = Omitted::default();
    for property in bundle.properties.iter_mut().filter(|property| property.r#type == "olm.csv.metadata") {
        let before = go_json::compact(&property.value).len();
        let annotations = property.value.get_mut("annotations").and_then(Json::as_object_mut);
        omitted.examples += usize::from(annotations.is_some_and(|map| map.remove("alm-examples").is_some()));
        for (definitions, list) in [
            ("crdDescriptions", "owned"),
            ("crdDescriptions", "required"),
            ("apiServiceDefinitions", "owned"),
            ("apiServiceDefinitions", "required"),
        ] {
            let apis = property.value.get_mut(definitions).and_then(|value| value.get_mut(list));
            for api in apis.and_then(Json::as_array_mut).into_iter().flatten() {
                let Some(api) = api.as_object_mut() else { continue };
                let fields = api.len();
                for name in ["resources", "specDescriptors", "statusDescriptors", "actionDescriptors"] {
                    api.remove(name);
                }
                omitted.apis += usize::from(api.len() < fields);
            }
        }
        omitted.bytes += before.saturating_sub(go_json::compact(&property.value).len());
    }
    omitted.bundles = usize::from(omitted.bytes > 0);
    omitted
}
