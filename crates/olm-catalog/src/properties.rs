//! The properties of a bundle: what it provides and requires, according to its objects, its CSV and `metadata/`.
//!
//! Source: `pkg/registry/parse.go` and `registry_to_model.go` of operator-registry.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::error::RenderError;
use kube_yaml::Value;
use kube_yaml::go_json;
use olm_model::catalog::Property;
use olm_model::csv::ClusterServiceVersion;
use olm_model::{Bundle, Object};

/// Group, kind and version.
type Gvk = (String, String, String);

/// Returns the properties of `bundle`, sorted by type and value.
pub(crate) fn properties(
    bundle: &Bundle,
    csv: &ClusterServiceVersion,
    package: &str,
) -> Result<Vec<Property>, RenderError> {
    let mut provided: BTreeSet<Gvk> = provided_apis(bundle, csv);
    let mut required: BTreeSet<Gvk> = required_apis(csv)?;
    let mut package_property = None;
    let mut others = Vec::new();
    let from_file = metadata_list(bundle, "properties");
    let from_annotations = [property("olm.package", package_value(package, csv))];
    for given in from_file.into_iter().chain(from_annotations).chain(annotated(csv)) {
        match given.r#type.as_str() {
            "olm.gvk" => {
                provided.insert(gvk(&given.value));
            }
            "olm.package" => package_property = Some(given),
            _ if others.contains(&given) => {}
            _ => others.push(given),
        }
    }
    for dependency in metadata_list(bundle, "dependencies") {
        match dependency.r#type.as_str() {
            "olm.gvk" => {
                required.insert(gvk(&dependency.value));
            }
            "olm.package" => {
                let text = |key: &str| dependency.value[key].as_str().unwrap_or_default();
                let value = json!({"packageName": text("packageName"), "versionRange": text("version")});
                others.push(property("olm.package.required", value));
            }
            _ => others.push(dependency),
        }
    }
    let of = |r#type: &'static str| {
        move |(group, kind, version): Gvk| {
            property(r#type, json!({"group": group, "kind": kind, "version": version}))
        }
    };
    let mut all: Vec<Property> = package_property.into_iter().chain(others).collect();
    all.extend(provided.into_iter().map(of("olm.gvk")));
    all.extend(required.into_iter().map(of("olm.gvk.required")));
    all.sort_by_cached_key(|property| (property.r#type.clone(), go_json::compact(&property.value)));
    Ok(all)
}

fn property(r#type: &str, value: Json) -> Property {
    Property { r#type: r#type.to_owned(), value }
}

fn package_value(package: &str, csv: &ClusterServiceVersion) -> Json {
    let mut value = json!({"packageName": package, "version": csv.spec.version});
    let release = match &csv.spec.release {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        _ => String::new(),
    };
    if !release.is_empty() {
        value["release"] = release.into();
    }
    value
}

fn gvk(value: &Json) -> Gvk {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    (text("group"), text("kind"), text("version"))
}

/// Returns the properties in the CSV's annotation `olm.properties`. What does not parse is ignored, as in opm.
fn annotated(csv: &ClusterServiceVersion) -> Vec<Property> {
    let annotations = csv.metadata.annotations.as_ref();
    let text = annotations.and_then(|annotations| annotations.get("olm.properties"));
    text.and_then(|text| kube_yaml::json::from_str(text).ok()).unwrap_or_default()
}

/// Returns the list `properties` or `dependencies` of the first file in `metadata/` that has one.
fn metadata_list(bundle: &Bundle, name: &str) -> Vec<Property> {
    let lists = bundle.files.iter().filter(|file| file.is_metadata()).filter_map(|file| {
        let root = file.documents().first()?.root();
        let items = root.get(name)?.items().map(|item| {
            let text = item.get("type").and_then(Value::as_str).unwrap_or_default();
            property(text, item.get("value").map_or(Json::Null, Value::to_json))
        });
        Some(items.collect::<Vec<_>>())
    });
    lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default()
}

/// Returns the versions that a CRD in the bundle serves, with the plural name.
pub(crate) fn crd_apis(crd: &Object<'_>) -> impl Iterator<Item = (Gvk, String)> {
    let root = crd.root;
    let text = move |keys: &[&str]| root.dig(keys).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (group, kind) = (text(&["spec", "group"]), text(&["spec", "names", "kind"]));
    let plural = text(&["spec", "names", "plural"]);
    let listed = root.dig(&["spec", "versions"]).into_iter().flat_map(Value::items);
    let names = listed.map(|version| version.get("name").and_then(Value::as_str).unwrap_or_default());
    let single = root.dig(&["spec", "version"]).and_then(Value::as_str).filter(|version| !version.is_empty());
    names
        .chain(single)
        .map(move |version| ((group.clone(), kind.clone(), version.to_owned()), plural.clone()))
}

fn provided_apis(bundle: &Bundle, csv: &ClusterServiceVersion) -> BTreeSet<Gvk> {
    let crds = bundle.of_kind("CustomResourceDefinition");
    let from_crds = crds.flat_map(|crd| crd_apis(&crd).map(|(gvk, _)| gvk).collect::<Vec<_>>());
    let owned = csv.spec.apiservicedefinitions.owned.iter();
    from_crds.chain(owned.map(|api| (api.group.clone(), api.kind.clone(), api.version.clone()))).collect()
}

fn required_apis(csv: &ClusterServiceVersion) -> Result<BTreeSet<Gvk>, RenderError> {
    let mut required = BTreeSet::new();
    for crd in &csv.spec.customresourcedefinitions.required {
        let Some((_, group)) = crd.name.split_once('.') else {
            return Err(RenderError::CrdName(crd.name.clone()));
        };
        required.insert((group.to_owned(), crd.kind.clone(), crd.version.clone()));
    }
    let apis = csv.spec.apiservicedefinitions.required.iter();
    required.extend(apis.map(|api| (api.group.clone(), api.kind.clone(), api.version.clone())));
    Ok(required)
}
