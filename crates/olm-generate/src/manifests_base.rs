//! The base CSV of a project: generated from `Cargo.toml` and the CRDs' schemas, with the user's overrides, and merged into
//! the existing base without losing manual changes.

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use super::error::Error;
use super::json::{items, map_mut, string_at};
use super::project::{Icon, Project};
use super::report::{GenerateReport, ObjectOutcome};
use super::{base as bases, descriptors, input, merge};
use olm_model::Document;

/// What a base is generated from.
#[derive(Debug, Default)]
pub struct Base<'i> {
    /// The project. Without one, a new base has only what must be there.
    pub project: Option<&'i Project>,
    /// The package's name.
    pub package: &'i str,
    /// The contents of the project's description file.
    pub description: Option<&'i str>,
    /// The icon.
    pub icon: Option<&'i Icon>,
    /// The manifests. All but CRDs are ignored.
    pub documents: &'i [Document],
    /// Part of a CSV that is merged over what is generated. Null removes a field.
    pub overrides: Option<&'i Json>,
    /// The existing base.
    pub there: Option<&'i Json>,
    /// What was generated when the existing base was written.
    pub last: Option<&'i Json>,
}

/// A base CSV.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdatedBase {
    /// The CSV.
    pub csv: Json,
    /// What was generated for it: [`Base::last`] of the next time. `None` if nothing of it was.
    pub generated: Option<Json>,
    /// The fields that catalogs show and the CSV does not have.
    pub missing: Vec<&'static str>,
}

/// Returns the base.
///
/// A base that a person maintains, which exists and was not generated, is extended by the owned CRDs that it lacks and by the
/// overrides, and is otherwise unchanged.
///
/// # Errors
/// A CRD has a field of the wrong type.
pub fn base(what: &Base<'_>, report: &mut GenerateReport) -> Result<UpdatedBase, Error> {
    let has_metadata = what.project.is_some_and(|project| project.olm.is_some());
    let was_generated = what.last.is_some_and(|last| last.get("kind").is_some());
    let maintained = what.there.filter(|_| !has_metadata && !was_generated);
    let collected = input::collect(what.documents, report)?;
    let mut owned = Vec::new();
    for definition in collected.definitions() {
        report.record(definition.source, ObjectOutcome::Csv("customresourcedefinitions.owned".to_owned()));
        owned.extend(match maintained {
            Some(_) => descriptors::summaries(definition),
            None => descriptors::owned(definition),
        });
    }
    let mut now = match (maintained, what.project) {
        (Some(there), _) => {
            let [described, generated] =
                [Some(there), what.last].map(|csv| csv.map(owned_keys).unwrap_or_default());
            owned.retain(|entry| {
                let key = owned_key(entry);
                generated.contains(&key) || !described.contains(&key)
            });
            if owned.is_empty() { json!({}) } else { json!({"spec": {}}) }
        }
        (None, Some(project)) => project.csv(what.description, what.icon),
        (None, None) => bases::bare(what.package),
    };
    if maintained.is_none()
        && let Some(spec) = map_mut(&mut now, "spec")
    {
        spec.insert("apiservicedefinitions".to_owned(), json!({}));
        spec.insert("install".to_owned(), json!({"spec": {"deployments": null}, "strategy": ""}));
    }
    if let Some(spec) = now.get_mut("spec").and_then(Json::as_object_mut) {
        spec.insert("customresourcedefinitions".to_owned(), json!({"owned": owned}));
    }
    if let Some(overrides) = what.overrides {
        merge::overlay(&mut now, overrides);
    }
    let csv = match what.there {
        Some(there) => merge::update(there, what.last, &now),
        None => now.clone(),
    };
    let missing = bases::missing(&csv);
    let is_generated = now.as_object().is_some_and(|now| !now.is_empty());
    Ok(UpdatedBase { csv, generated: is_generated.then_some(now), missing })
}

/// Returns name, version and kind of the CRDs that a CSV owns.
fn owned_keys(csv: &Json) -> HashSet<[String; 3]> {
    items(csv, &["spec", "customresourcedefinitions", "owned"]).iter().map(owned_key).collect()
}

fn owned_key(entry: &Json) -> [String; 3] {
    ["name", "version", "kind"].map(|key| string_at(entry, &[key]).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lakes.example.com}
spec:
  group: example.com
  names: {kind: Lake, plural: lakes}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: A lake., properties: {spec: {type: object, properties: {depth: {type: integer}}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
";

    fn updated(there: Option<&Json>, last: Option<&Json>) -> UpdatedBase {
        let documents: Vec<Document> = kube_yaml::parse(CRD.as_bytes())
            .documents
            .into_iter()
            .map(|tree| Document { file: "crd.yaml".to_owned(), tree })
            .collect();
        let what = Base { package: "lake-operator", documents: &documents, there, last, ..Base::default() };
        base(&what, &mut GenerateReport::default()).unwrap()
    }

    #[test]
    fn maintained_base_gets_missing_owned_crds_only() {
        let mine =
            json!({"kind": "Lake", "name": "lakes.example.com", "version": "v1", "displayName": "My lake"});
        let there = json!({"kind": "ClusterServiceVersion", "spec": {
            "maintainers": [{"name": "Ada", "email": "ada@example.com"}],
            "customresourcedefinitions": {"owned": [mine]},
        }});
        let first = updated(Some(&there), None);
        let added =
            json!({"kind": "Lake", "name": "lakes.example.com", "version": "v2", "displayName": "Lake"});
        let mut expected = there.clone();
        expected["spec"]["customresourcedefinitions"]["owned"] = json!([mine, added]);
        assert_eq!(first.csv, expected);
        assert_eq!(first.generated, Some(json!({"spec": {"customresourcedefinitions": {"owned": [added]}}})));
        assert_eq!(
            first.missing,
            ["spec.description", "spec.icon", "spec.keywords", "spec.links", "spec.provider.name"]
        );
        let again = updated(Some(&first.csv), first.generated.as_ref());
        assert_eq!(again, first);
        // Without anything to add, nothing is recorded either.
        let complete = updated(Some(&first.csv), None);
        assert_eq!((complete.csv, complete.generated), (first.csv, None));
    }

    #[test]
    fn null_in_a_maintained_base_is_filled() {
        for definitions in [json!(null), json!({}), json!({"owned": null}), json!({"owned": []})] {
            let there = json!({"spec": {"customresourcedefinitions": definitions}});
            let csv = updated(Some(&there), None).csv;
            assert_eq!(
                items(&csv, &["spec", "customresourcedefinitions", "owned"]).len(),
                2,
                "{definitions}"
            );
        }
    }

    #[test]
    fn generated_base_has_no_placeholders_and_loses_earlier_ones() {
        let first = updated(None, None);
        let text = first.csv.to_string();
        for placeholder in ["TODO", "your", "Maintainer", "Provider", ".domain", "base64data"] {
            assert!(!text.contains(placeholder), "{placeholder}: {text}");
        }
        assert!(text.contains("specDescriptors"));
        assert_eq!(updated(Some(&first.csv), first.generated.as_ref()).csv, first.csv);
        let mut earlier = first.csv.clone();
        earlier["spec"]["provider"] = json!({"name": "Provider Name", "url": "https://your.domain"});
        assert_eq!(updated(Some(&earlier), Some(&earlier)).csv, first.csv);
    }
}
