//! What an upgrade from one bundle to another changes, and what it breaks.
//!
//! CRDs are compared as OLM v1 compares them before it upgrades ([`Change`]); permissions, install modes, webhooks and
//! images as administrators read them. Bundles are read elsewhere; nothing here does I/O.

mod bundle;
mod crd;
mod difference;
mod objects;
mod report;
mod schema;
mod version;
mod version_order;

use serde_json::Value as Json;

pub use bundle::{Lists, Permission};
pub use crd::{Change, Effect};
pub use difference::{CrdDifference, Difference};
pub use objects::{BrokenObject, Objects, objects};
pub use report::{markdown, sentence, text};
pub use version::Version;

/// How strictly CRDs are compared.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Report everything that the check of OLM v1 rejects in the CRDs as they are written, harmless changes and follow-up errors
    /// among it.
    pub strict: bool,
    /// The versions that objects are stored in (`status.storedVersions` of the installed CRDs); by default, the old
    /// CRD's storage version.
    pub stored_versions: Vec<String>,
}

/// Returns what breaks from one CRD to another of the same name, sorted.
#[must_use]
pub fn compare_crds(old: &Json, new: &Json, options: &Options) -> Vec<Change> {
    let stored = match options.stored_versions.as_slice() {
        [] => crd::storage_versions(old),
        stored => stored.to_vec(),
    };
    let mut breaking = crd::changes(old, new, &stored, options.strict);
    if !options.strict {
        crd::keep_relevant(&mut breaking);
    }
    breaking
}

/// Compares two versions of an operator.
///
/// Unless [`Options::strict`] is set, changes that existing objects do not notice are omitted, as are the follow-up
/// errors of a removed field, and served versions that a conversion webhook of the CSV converts are not compared.
///
/// ```
/// use std::collections::BTreeMap;
/// use bundle_tool::{diff, read};
///
/// let crd = |maximum: u32| {
///     let text = format!(
///         "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: gizmos.example.com}}\n\
///          spec: {{scope: Namespaced, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: \
///          {{type: object, properties: {{size: {{type: integer, maximum: {maximum}}}}}}}}}}}]}}\n"
///     );
///     let files = BTreeMap::from([("manifests/crd.yaml".to_owned(), text.into_bytes())]);
///     diff::Version::of_bundle(&read::bundle::files("gizmo", &files))
/// };
/// let difference = diff::compare(crd(10), crd(5), &diff::Options::default());
/// assert_eq!(difference.crds[0].breaking[0].check, "maximum");
/// assert_eq!(difference.crds[0].breaking[0].detail, "10 -> 5");
/// ```
#[must_use]
pub fn compare(old: Version, mut new: Version, options: &Options) -> Difference {
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
    let crd_names = Lists::of(&old.crds.into_keys().collect(), &new.crds.into_keys().collect());
    let (old, new) = (old.summary, new.summary);
    Difference {
        version: 1,
        crds: changed,
        crd_names,
        permissions: Lists::of(&old.permissions, &new.permissions),
        install_modes: Lists::of(&old.install_modes, &new.install_modes),
        webhooks: Lists::of(&old.webhooks, &new.webhooks),
        images: Lists::of(&old.images, &new.images),
        required_apis: Lists::of(&old.required_apis, &new.required_apis),
        descriptors: Lists::of(&old.descriptors, &new.descriptors),
        objects: None,
        manifests_size: sizes.filter(|(old, new)| old != new),
        min_kube_version: (old.min_kube_version != new.min_kube_version)
            .then_some((old.min_kube_version, new.min_kube_version)),
        old: old.name,
        new: new.name,
    }
}
