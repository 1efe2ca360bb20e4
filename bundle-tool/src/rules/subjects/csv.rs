//! The `ClusterServiceVersion` of a bundle.

use std::collections::BTreeSet;

use super::metadata;
use super::prepare::Prepared;
use crate::model::Object;
use crate::model::csv::ClusterServiceVersion;
use crate::model::yaml::{self, DecodeError, Path, Unknown, Value};

/// A `ClusterServiceVersion`, as written and as OLM decodes it.
#[derive(Debug)]
pub(in crate::rules) struct Csv<'b> {
    /// As written, with positions.
    pub(in crate::rules) object: Object<'b>,
    /// As OLM decodes it.
    pub(in crate::rules) typed: ClusterServiceVersion,
    /// The fields that OLM drops.
    pub(in crate::rules) unknown: Vec<Unknown>,
    /// The Deployments of its install strategy as the API server validates them.
    pub(in crate::rules) deployments: Vec<Prepared>,
    /// The size in bytes of the keys and values of its annotations.
    pub(in crate::rules) annotation_bytes: usize,
}

impl<'b> Csv<'b> {
    /// Decodes a CSV as OLM does.
    ///
    /// # Errors
    ///
    /// If a field has a value of the wrong type.
    pub(in crate::rules) fn new(object: Object<'b>) -> Result<Self, DecodeError> {
        let decoded = yaml::decode_ignoring_case::<ClusterServiceVersion>(object.root, &Path::ROOT)?;
        let typed = decoded.object;
        let deployments = typed.spec.install.spec.deployments.iter().map(Prepared::new).collect();
        let annotation_bytes = typed.metadata.annotations.as_ref().map_or(0, metadata::annotation_bytes);
        Ok(Self { object, typed, unknown: decoded.unknown, deployments, annotation_bytes })
    }

    /// Returns the value that a chain of keys leads to, as it is written. Keys may differ in case, as they may for OLM.
    #[must_use]
    pub(in crate::rules) fn dig(&self, keys: &[&str]) -> Option<Value<'b>> {
        keys.iter().try_fold(self.object.root, |value, key| {
            value.get(key).or_else(|| {
                let mut entries = value.entries();
                entries.find(|(name, _)| name.text().eq_ignore_ascii_case(key)).map(|(_, value)| value)
            })
        })
    }

    /// Returns the Deployments of the install strategy whose names an earlier one has: index and name.
    pub(in crate::rules) fn duplicate_deployments(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut seen = BTreeSet::new();
        let names =
            self.typed.spec.install.spec.deployments.iter().map(|deployment| deployment.name.as_str());
        names.enumerate().filter(move |(_, name)| !seen.insert(*name))
    }

    /// Returns the names of the Deployments of the install strategy.
    #[must_use]
    pub(in crate::rules) fn deployment_names(&self) -> BTreeSet<&str> {
        let deployments = &self.typed.spec.install.spec.deployments;
        deployments.iter().map(|deployment| deployment.name.as_str()).collect()
    }
}
