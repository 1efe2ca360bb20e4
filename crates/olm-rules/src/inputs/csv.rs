//! The `ClusterServiceVersion` of a bundle.

use std::collections::BTreeSet;

use super::metadata;
use super::prepare::Prepared;
use kube_yaml::{DecodeError, Path, Unknown, Value};
use kubernetes_cel::Server;
use olm_model::Object;
use olm_model::csv::ClusterServiceVersion;

/// A `ClusterServiceVersion`, as written and as OLM decodes it.
#[derive(Debug)]
pub(crate) struct Csv<'b> {
    /// As written, with positions.
    pub(crate) object: Object<'b>,
    /// As OLM decodes it.
    pub(crate) typed: ClusterServiceVersion,
    /// The fields that OLM drops.
    pub(crate) unknown: Vec<Unknown>,
    /// The Deployments of its install strategy as the API server validates them, once they are [prepared](Self::prepare).
    pub(crate) deployments: Vec<Prepared>,
    /// The size in bytes of the keys and values of its annotations.
    pub(crate) annotation_bytes: usize,
}

impl<'b> Csv<'b> {
    /// Decodes a CSV as OLM does.
    ///
    /// # Errors
    ///
    /// If a field has a value of the wrong type.
    pub(crate) fn new(object: Object<'b>) -> Result<Self, DecodeError> {
        let decoded = kube_yaml::decode_ignoring_case::<ClusterServiceVersion>(object.root, &Path::ROOT)?;
        let typed = decoded.object;
        let annotation_bytes = typed.metadata.annotations.as_ref().map_or(0, metadata::annotation_bytes);
        Ok(Self { object, typed, unknown: decoded.unknown, deployments: Vec::new(), annotation_bytes })
    }

    /// Prepares the Deployments of the install strategy as the API server of a version does.
    pub(crate) fn prepare(&mut self, server: &Server) {
        let written = &self.typed.spec.install.spec.deployments;
        self.deployments = written.iter().map(|written| Prepared::new(written, server)).collect();
    }

    /// Returns the value that a chain of keys leads to, as it is written. Keys may differ in case, as they may for OLM.
    #[must_use]
    pub(crate) fn dig(&self, keys: &[&str]) -> Option<Value<'b>> {
        keys.iter().try_fold(self.object.root, |value, key| {
            value.get(key).or_else(|| {
                let mut entries = value.entries();
                entries.find(|(name, _)| name.text().eq_ignore_ascii_case(key)).map(|(_, value)| value)
            })
        })
    }

    /// Returns the Deployments of the install strategy whose names an earlier one has: index and name.
    pub(crate) fn duplicate_deployments(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut seen = BTreeSet::new();
        let names =
            self.typed.spec.install.spec.deployments.iter().map(|deployment| deployment.name.as_str());
        names.enumerate().filter(move |(_, name)| !seen.insert(*name))
    }

    /// Returns the names of the Deployments of the install strategy.
    #[must_use]
    pub(crate) fn deployment_names(&self) -> BTreeSet<&str> {
        let deployments = &self.typed.spec.install.spec.deployments;
        deployments.iter().map(|deployment| deployment.name.as_str()).collect()
    }
}
