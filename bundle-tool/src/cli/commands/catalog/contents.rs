//! The bundles of a catalog: their blobs beside the catalog's graph, and the manifests that blobs contain.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use serde_json::{Value as Json, json};

use super::load;
use olm_catalog::validate::decode;
use olm_catalog::validate::{Blob, Decoded, base64_data};
use olm_cluster::v1::migrate::properties;
use olm_model::Annotations;
use olm_model::catalog as model;
use olm_model::catalog::Bundle;
use olm_model::read;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{Limits, Source};

/// What is kept of each bundle, by package and name.
pub(crate) type Kept<T> = HashMap<(String, String), T>;

/// Reads the documents of a catalog, and of each bundle what `keep` returns.
pub(crate) fn documents<T: Send>(
    sources: Vec<Source>,
    keep: impl Fn(Bundle) -> T + Sync,
) -> Result<(Vec<Decoded>, Kept<T>)> {
    let documents = reader::documents(sources, Limits::default(), |document| {
        let blob = document.content.as_ref().ok().map(|parsed| model::Blob::decode(parsed.tree.root()));
        let kept = match blob {
            Some(Ok(model::Blob::Bundle(bundle))) => {
                let key = (bundle.package.clone(), bundle.name.clone());
                Some((key, keep(*bundle)))
            }
            _ => None,
        };
        (decode(&document), kept)
    })?;
    let mut bundles = Kept::new();
    let documents = documents.into_iter().map(|(decoded, kept)| {
        if let Some((key, kept)) = kept {
            bundles.entry(key).or_insert(kept);
        }
        decoded
    });
    Ok((documents.collect(), bundles))
}

/// Reads the blobs of a catalog, and of each bundle what `keep` returns. The catalog may be invalid as long as every
/// document can be read.
pub(crate) fn read<T: Send>(
    sources: Vec<Source>,
    keep: impl Fn(Bundle) -> T + Sync,
) -> Result<(Vec<Blob>, Kept<T>)> {
    let (documents, bundles) = documents(sources, keep)?;
    Ok((load::readable(documents)?, bundles))
}

/// Returns the manifests of a blob's `olm.bundle.object` properties.
pub(crate) fn objects(blob: &Bundle) -> Vec<Vec<u8>> {
    let objects = blob.properties.iter().filter(|property| property.r#type == "olm.bundle.object");
    objects.filter_map(|property| base64_data(property.value["data"].as_str()?)).collect()
}

/// Returns the bundle that a blob describes, and whether it has all of its manifests.
///
/// Without `olm.bundle.object`, the CSV has only what `olm.csv.metadata` has of it.
pub(crate) fn bundle(blob: &Bundle) -> (olm_model::Bundle, bool) {
    let manifests = objects(blob);
    let is_complete = !manifests.is_empty();
    let mut files: BTreeMap<String, Vec<u8>> = manifests
        .into_iter()
        .enumerate()
        .map(|(index, object)| (format!("manifests/{index:04}.yaml"), object))
        .collect();
    let metadata = blob.property("olm.csv.metadata");
    // Nothing is known of the install modes of a bundle without its metadata.
    let any = json!([{"type": "AllNamespaces", "supported": true}]);
    let none = json!([]);
    let modes = if metadata.is_null() { &any } else { metadata.get("installModes").unwrap_or(&none) };
    let csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": blob.name, "annotations": metadata.get("annotations").unwrap_or(&json!({}))},
        "spec": {
            "version": blob.property("olm.package")["version"],
            "customresourcedefinitions": metadata.get("crdDescriptions").unwrap_or(&json!({})),
            "apiservicedefinitions": metadata.get("apiServiceDefinitions").unwrap_or(&json!({})),
            "installModes": modes,
        },
    });
    if !is_complete {
        files.insert("manifests/csv.yaml".into(), csv.to_string().into_bytes());
    }
    let all: Vec<Json> =
        blob.properties.iter().filter_map(|property| serde_json::to_value(property).ok()).collect();
    let annotations = json!({"annotations": {Annotations::PACKAGE: blob.package}});
    files.insert("metadata/annotations.yaml".into(), annotations.to_string().into_bytes());
    files.insert("metadata/properties.yaml".into(), properties(&all, &csv).to_string().into_bytes());
    (read::bundle::files(&blob.name, &files), is_complete)
}
