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
    let sizes = old.manifests_size.zip(new.manifests_size);
    let crd_names = Lists::compare(&old.crds.into_keys().collect(), &new.crds.into_keys().collect());
    let immutable_fields = immutable::changes(&old.objects, &new.objects);
    let dependencies = Lists::compare(&old.dependencies.0, &new.dependencies.0);
    let (old, new) = (old.summary, new.summary);
    let missing_edge =
        if old.name == new.name || old.name.is_empty() { None } else { new.edges.missing_from(&old) };
    Difference {
        version: 1,
        crds: changed,
        crd_names,
        immutable_fields,
        conversion_conflicts,
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
