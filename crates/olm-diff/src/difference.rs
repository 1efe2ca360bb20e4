//! What changes between two versions of an operator.

use serde::Serialize;

use super::bundle::{Lists, Permission};
use super::crd::Change;
use super::immutable::ImmutableChange;
use super::objects::Objects;
use kube_yaml::text::null_if_empty;

/// What changes between two versions.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Difference {
    /// The version of this format: 1.
    pub version: u32,
    /// The old CSV's name.
    #[serde(serialize_with = "null_if_empty")]
    pub old: String,
    /// The new CSV's name.
    #[serde(serialize_with = "null_if_empty")]
    pub new: String,
    /// CRDs that both bundles have and that differ in something that can break, sorted by name.
    pub crds: Vec<CrdDifference>,
    /// CRDs that only one of the bundles has.
    pub crd_names: Lists<String>,
    /// Immutable fields that change in objects of the same name, sorted by object: the API server rejects the update.
    pub immutable_fields: Vec<ImmutableChange>,
    /// CRDs whose manifest configures conversion although a conversion webhook of the CSV converts them, sorted: conversion fails
    /// until OLM has replaced what the manifest configures.
    pub conversion_conflicts: Vec<String>,
    /// The package, if it differs: OLM treats the new bundle as another operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<(String, String)>,
    /// The channels of the bundle, and the properties that limit where it is installed, as lines.
    pub catalog_metadata: Lists<String>,
    /// What `metadata/dependencies.yaml` and the bundle's properties require.
    pub dependencies: Lists<String>,
    /// Names of the Deployments.
    pub deployments: Lists<String>,
    /// Fields that change in Deployments of the same name.
    pub deployment_fields: Vec<String>,
    /// Names of the service accounts that the CSV grants permissions to.
    pub service_accounts: Lists<String>,
    /// What service accounts may do, before and after.
    pub permissions: Lists<Permission>,
    /// Supported install modes.
    pub install_modes: Lists<String>,
    /// Webhooks, by type and name.
    pub webhooks: Lists<String>,
    /// Fields that change in webhooks of the same type and name.
    pub webhook_fields: Vec<String>,
    /// APIs that the operator serves itself, through API services.
    pub owned_apis: Lists<String>,
    /// Images that the operator runs or names in relatedImages.
    pub images: Lists<String>,
    /// APIs that have to be there, CRDs and others.
    pub required_apis: Lists<String>,
    /// Descriptors of owned CRDs, by CRD, version, kind and path.
    pub descriptors: Lists<String>,
    /// What becomes of existing objects, if there are any to validate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<Objects>,
    /// `spec.minKubeVersion`, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_kube_version: Option<(String, String)>,
    /// Why the new CSV does not upgrade the old one, if it names others only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_edge: Option<String>,
    /// The size of the files in `manifests/`, in bytes, if it differs and both are bundles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifests_size: Option<(u64, u64)>,
}

/// What changes in one CRD.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CrdDifference {
    /// The CRD's name: `memcacheds.cache.example.com`.
    pub name: String,
    /// The changes that break, sorted.
    pub breaking: Vec<Change>,
}

impl CrdDifference {
    /// Returns what changes in the CRD `name`.
    #[must_use]
    pub fn new(name: String, breaking: Vec<Change>) -> Self {
        Self { name, breaking }
    }
}

impl Difference {
    /// Whether the upgrade breaks something: a CRD's change, an immutable field, a dependency that is new, an install mode, a CRD or an
    /// owned API that is gone, another package, an existing object.
    #[must_use]
    pub fn breaks(&self) -> bool {
        self.objects.as_ref().is_some_and(|objects| !objects.broken.is_empty())
            || !self.crds.is_empty()
            || !self.immutable_fields.is_empty()
            || !self.dependencies.added.is_empty()
            || !self.required_apis.added.is_empty()
            || !self.install_modes.removed.is_empty()
            || !self.crd_names.removed.is_empty()
            || !self.owned_apis.removed.is_empty()
            || self.package.is_some()
    }

    /// Whether OLM v1's CRD upgrade safety check rejects the upgrade.
    #[must_use]
    pub fn breaks_crds(&self) -> bool {
        !self.crds.is_empty()
    }
}
