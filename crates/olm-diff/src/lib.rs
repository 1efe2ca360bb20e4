//! What an upgrade from one bundle to another changes, and what it breaks.
//!
//! CRDs are compared as OLM v1 compares them before it upgrades ([`Change`]); permissions, install modes, webhooks and
//! images as administrators read them. Bundles are read elsewhere; nothing here does I/O.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bundle;
mod crd;
mod deployments;
mod difference;
mod immutable;
mod objects;
mod report;
mod schema;
mod version;
mod webhooks;

use std::collections::BTreeMap;

use serde_json::Value as Json;

pub use bundle::{Lists, Permission};
pub use crd::{Change, Effect};
pub use difference::{CrdDifference, Difference};
pub use immutable::ImmutableChange;
pub use objects::{BrokenObject, Objects, objects};
pub use report::{Section, Styles, sections, sentence, summary, write_markdown, write_text};
pub use version::Version;

/// How strictly CRDs are compared.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Report everything that the check of OLM v1 rejects in the CRDs as they are written, harmless changes and follow-up errors
    /// among it.
    pub strict: bool,
    /// The versions that objects are stored in.
    pub stored_versions: StoredVersions,
}

/// The versions that objects are stored in (`status.storedVersions` of the installed CRDs).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum StoredVersions {
    /// The old CRD's storage version.
    #[default]
    Storage,
    /// The versions of each CRD, by its name; the storage version of CRDs that are not among them.
    OfCrds(BTreeMap<String, Vec<String>>),
}

impl StoredVersions {
    fn of_crd(&self, crd: &Json) -> Vec<String> {
        let stored = match self {
            Self::Storage => Vec::new(),
            Self::OfCrds(crds) => {
                crds.get(crd["metadata"]["name"].as_str().unwrap_or_default()).cloned().unwrap_or_default()
            }
        };
        if stored.is_empty() { crd::storage_versions(crd) } else { stored }
    }
}

/// Returns what breaks from one CRD to another of the same name, sorted.
#[must_use]
pub fn compare_crds(old: &Json, new: &Json, options: &Options) -> Vec<Change> {
    let stored = options.stored_versions.of_crd(old);
    let mut breaking = crd::changes(old, new, &stored, options.strict);
    if !options.strict {
        crd::keep_relevant(&mut breaking);
        crd::add_unserved(old, new, &stored, &mut breaking);
    }
    breaking
}

/// Compares two versions of an operator.
///
/// Unless [`Options::strict`] is set, changes that existing objects do not notice are omitted, as are the follow-up
/// errors of a removed field, and served versions that a conversion webhook of the CSV converts are not compared.
#[must_use]
pub fn compare(old: Version, mut new: Version, options: &Options) -> Difference {
    let conversion_conflicts = new.conflicting_conversions().cloned().collect();
    if !options.strict {
        new.set_up_conversions();
    }
    let mut changed = Vec::new();
    for (name, crd) in &new.crds {
        let Some(before) = old.crds.get(name) else { continue };
        let breaking = compare_crds(before, crd, options);
        if !breaking.is_empty() {
            changed.push(CrdDifference { name: name.clone(), breaking });
        }
    }
    let mut owned_apis = Lists::compare(&old.summary.owned_apis, &new.summary.owned_apis);
    // An API that a CRD serves from now on is still there.
    let served = new.served_apis();
    owned_apis.removed.retain(|api| !served.contains(api));
    let sizes = old.manifests_size.zip(new.manifests_size);
    let crd_names = Lists::compare(&old.crds.into_keys().collect(), &new.crds.into_keys().collect());
    let immutable_fields = immutable::changes(&old.objects, &new.objects);
    let dependencies = Lists::compare(&old.dependencies.0, &new.dependencies.0);
    let catalog_metadata = Lists::compare(&old.catalog_metadata, &new.catalog_metadata);
    let packages = (old.package, new.package);
    let is_named = !packages.0.is_empty() && !packages.1.is_empty();
    let package = (is_named && packages.0 != packages.1).then_some(packages);
    let (old, new) = (old.summary, new.summary);
    let missing_edge =
        if old.name == new.name || old.name.is_empty() { None } else { new.edges.missing_from(&old) };
    Difference {
        version: 1,
        crds: changed,
        crd_names,
        immutable_fields,
        conversion_conflicts,
        package,
        catalog_metadata,
        dependencies,
        deployments: Lists::compare(
            &deployments::names(&old.deployments),
            &deployments::names(&new.deployments),
        ),
        deployment_fields: deployments::changes(&old.deployments, &new.deployments),
        service_accounts: Lists::compare(&old.service_accounts, &new.service_accounts),
        permissions: Lists::compare(&old.permissions, &new.permissions),
        install_modes: Lists::compare(&old.install_modes, &new.install_modes),
        webhooks: Lists::compare(&old.webhooks, &new.webhooks),
        webhook_fields: webhooks::changes(&old.webhook_definitions, &new.webhook_definitions),
        owned_apis,
        images: Lists::compare(&old.images, &new.images),
        required_apis: Lists::compare(&old.required_apis, &new.required_apis),
        descriptors: Lists::compare(&old.descriptors, &new.descriptors),
        objects: None,
        manifests_size: sizes.filter(|(old, new)| old != new),
        min_kube_version: (old.min_kube_version != new.min_kube_version)
            .then_some((old.min_kube_version, new.min_kube_version)),
        missing_edge,
        old: old.name,
        new: new.name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Compares two lists of objects.
    fn difference(old: &[Json], new: &[Json]) -> Difference {
        let version = |objects: &[Json]| {
            let trees: Vec<_> = objects
                .iter()
                .filter_map(|object| {
                    kube_yaml::parse(object.to_string().as_bytes()).documents.into_iter().next()
                })
                .collect();
            Version::of_objects(trees.iter().map(kube_yaml::Tree::root))
        };
        compare(version(old), version(new), &Options::default())
    }

    fn csv(spec: &Json) -> Json {
        json!({"kind": "ClusterServiceVersion", "metadata": {"name": "gizmo.v1"}, "spec": spec})
    }

    #[test]
    fn an_owned_api_that_is_gone_breaks_clients_unless_a_crd_serves_it() {
        let api = json!({"group": "gadgets.example.com", "version": "v1", "kind": "Gizmo", "name": "gizmos"});
        let old = [csv(&json!({"apiservicedefinitions": {"owned": [api]}}))];
        let found = difference(&old, &[csv(&json!({}))]);
        assert!(found.breaks());
        assert_eq!(found.owned_apis.removed, ["Gizmo.gadgets.example.com v1"]);
        assert_eq!(summary(&found), "0 breaking changes in 0 CRDs, 1 owned API removed");
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "gizmos.gadgets.example.com"},
            "spec": {
                "group": "gadgets.example.com",
                "names": {"kind": "Gizmo"},
                "versions": [{"name": "v1", "served": true}],
            },
        });
        assert!(!difference(&old, &[csv(&json!({})), crd]).breaks());
        let added = difference(&[csv(&json!({}))], &old);
        assert!(!added.breaks());
        let titles: Vec<_> = sections(&added, ["-", "+"]).into_iter().map(|section| section.title).collect();
        assert_eq!(titles, ["owned APIs"]);
    }

    #[test]
    fn a_changed_webhook_is_listed_and_breaks_nothing() {
        let with = |policy: &str| {
            let webhook = json!({"type": "ValidatingAdmissionWebhook", "generateName": "v.example.com", "failurePolicy": policy});
            [csv(&json!({"webhookdefinitions": [webhook]}))]
        };
        let found = difference(&with("Ignore"), &with("Fail"));
        assert!(!found.breaks());
        let [section] = sections(&found, ["-", "+"]).try_into().unwrap();
        let line = "ValidatingAdmissionWebhook v.example.com: failurePolicy: Ignore -> Fail";
        assert_eq!((section.title, section.changes), ("webhooks", vec![line.to_owned()]));
    }
}
