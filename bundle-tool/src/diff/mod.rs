//! What an upgrade from one bundle to another changes, and what it breaks.
//!
//! CRDs are compared as OLM v1 compares them before it upgrades ([`Change`]); permissions, install modes, webhooks and
//! images as administrators read them. Bundles are read elsewhere; nothing here does I/O.

mod bundle;
mod crd;
mod difference;
mod report;
mod schema;
mod versions;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use self::bundle::Summary;
use crate::model::Bundle;
use crate::model::yaml::Value;

pub use bundle::{Lists, Permission};
pub use crd::{Change, Effect};
pub use difference::{CrdDifference, Difference};
pub use report::{markdown, sentence, text};

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

/// The parts of one version of an operator that upgrades are compared by.
#[derive(Debug)]
pub struct Version {
    /// CRDs of `apiextensions.k8s.io/v1` by name.
    crds: BTreeMap<String, Json>,
    /// The names of the CRDs that conversion webhooks of the CSV convert.
    converted: Vec<String>,
    summary: Summary,
}

impl Version {
    /// Reads the parts from a bundle.
    #[must_use]
    pub fn of_bundle(bundle: &Bundle) -> Self {
        Self::of_objects(bundle.objects().map(|object| object.root))
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
                    converted = bundle::converted_crds(object);
                }
                _ => {}
            }
        }
        Self { crds, converted, summary }
    }

    /// Returns the CRDs of `apiextensions.k8s.io/v1` by name, with the conversion webhooks of the CSV, which OLM v1 sets up in
    /// them before it compares them (`BundleCRDGenerator` of operator-controller).
    #[must_use]
    pub fn into_crds(mut self) -> BTreeMap<String, Json> {
        self.set_up_conversions();
        self.crds
    }

    fn set_up_conversions(&mut self) {
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
        min_kube_version: (old.min_kube_version != new.min_kube_version)
            .then_some((old.min_kube_version, new.min_kube_version)),
        old: old.name,
        new: new.name,
    }
}
