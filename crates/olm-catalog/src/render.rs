//! Renders a bundle as its `olm.bundle` blob.
//!
//! Source: `alpha/action/render.go` of operator-registry. With an image, the objects are reduced to
//! `olm.csv.metadata`; without one they cannot be pulled, and are kept as `olm.bundle.object`.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::json;

use super::csv_metadata::CsvMetadata;
use super::error::RenderError;
use super::properties::{crd_apis, properties};
use kube_yaml::go_json;
use olm_model::catalog;
use olm_model::catalog::{Property, RelatedImage};
use olm_model::csv::ClusterServiceVersion;
use olm_model::{Annotations, Bundle};

/// Returns the `olm.bundle` blob of `bundle`; `image` is the bundle's image, which need not exist yet.
///
/// # Errors
/// The bundle lacks something that a catalog requires; `validate` reports more.
pub fn render(bundle: &Bundle, image: Option<&str>) -> Result<catalog::Bundle, RenderError> {
    let has_image = image.is_some_and(|image| !image.is_empty());
    blob(bundle, image, !has_image)
}

/// As [`render()`], but keeps the objects of a bundle with an image, too.
///
/// # Errors
/// As for [`render()`].
pub fn render_with_objects(bundle: &Bundle, image: Option<&str>) -> Result<catalog::Bundle, RenderError> {
    blob(bundle, image, true)
}

fn blob(bundle: &Bundle, image: Option<&str>, with_objects: bool) -> Result<catalog::Bundle, RenderError> {
    let object = bundle.csv().ok_or(RenderError::NoCsv)?;
    let csv = object
        .decode::<ClusterServiceVersion>()
        .map_err(|error| RenderError::Csv { file: object.file.path.clone(), error })?
        .object;
    owned_are_there(bundle, &csv)?;
    let annotations = bundle.annotations().ok_or(RenderError::NoAnnotations)?;
    let package = annotations.get(Annotations::PACKAGE).unwrap_or_default();
    let mut properties = properties(bundle, &csv, package)?;
    let image = image.unwrap_or_default();
    if with_objects {
        // Only the first document of a file counts, and only the first CSV.
        let encoded = |json| base64::engine::general_purpose::STANDARD.encode(go_json::compact(&json));
        let mut objects: Vec<String> = first_documents(bundle).map(encoded).collect();
        // opm sorts properties by their values.
        objects.sort_unstable();
        properties.extend(
            objects.into_iter().map(|data| Property {
                r#type: "olm.bundle.object".to_owned(),
                value: json!({ "data": data }),
            }),
        );
    } else {
        let value = serde_json::to_value(CsvMetadata::new(&csv))?;
        properties.push(Property { r#type: "olm.csv.metadata".to_owned(), value });
    }
    Ok(catalog::Bundle {
        schema: "olm.bundle".to_owned(),
        name: object.name().to_owned(),
        package: package.to_owned(),
        image: image.to_owned(),
        properties,
        related_images: related_images(&csv, image),
    })
}

fn first_documents(bundle: &Bundle) -> impl Iterator<Item = serde_json::Value> {
    let mut csv_seen = false;
    bundle
        .files
        .iter()
        .filter(|file| file.is_manifest() && !file.name().starts_with('.'))
        .filter_map(|file| Some(file.documents().first()?.root()))
        .filter(|root| root.kind() == kube_yaml::Kind::Object)
        .filter(move |root| {
            let is_csv = root.get("kind").and_then(kube_yaml::Value::as_str) == Some("ClusterServiceVersion");
            !(is_csv && std::mem::replace(&mut csv_seen, true))
        })
        .map(kube_yaml::Value::to_json)
}

fn owned_are_there(bundle: &Bundle, csv: &ClusterServiceVersion) -> Result<(), RenderError> {
    let served: BTreeSet<_> = bundle
        .of_kind("CustomResourceDefinition")
        .flat_map(|crd| crd_apis(&crd).collect::<Vec<_>>())
        .collect();
    for owned in &csv.spec.customresourcedefinitions.owned {
        let Some((plural, group)) = owned.name.split_once('.') else {
            return Err(RenderError::CrdName(owned.name.clone()));
        };
        let key = ((group.to_owned(), owned.kind.clone(), owned.version.clone()), plural.to_owned());
        if !served.contains(&key) {
            return Err(RenderError::OwnedMissing {
                name: owned.name.clone(),
                version: owned.version.clone(),
                kind: owned.kind.clone(),
            });
        }
    }
    Ok(())
}

/// Returns the CSV's related images, the bundle's own and those of its containers, each once, sorted by image.
fn related_images(csv: &ClusterServiceVersion, image: &str) -> Vec<RelatedImage> {
    let mut images: Vec<RelatedImage> = csv
        .spec
        .related_images
        .iter()
        .map(|related| RelatedImage { name: related.name.clone(), image: related.image.clone() })
        .collect();
    let mut seen: BTreeSet<String> = images.iter().map(|related| related.image.clone()).collect();
    let mut add = |image: &str| {
        if seen.insert(image.to_owned()) {
            images.push(RelatedImage { name: String::new(), image: image.to_owned() });
        }
    };
    if !image.is_empty() {
        add(image);
    }
    if csv.spec.install.strategy == "deployment" {
        for deployment in &csv.spec.install.spec.deployments {
            let Some(pod) = &deployment.spec.template.spec else { continue };
            for container in pod.containers.iter().chain(pod.init_containers.iter().flatten()) {
                add(container.image.as_deref().unwrap_or_default());
            }
        }
    }
    images.sort_by(|a, b| (&a.image, &a.name).cmp(&(&b.image, &b.name)));
    images
}
