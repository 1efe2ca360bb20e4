//! The property `olm.csv.metadata`: the fields of a CSV that consoles show.
//!
//! Source: `alpha/property/property.go` (`CSVMetadata`) of operator-registry.

use std::collections::BTreeMap;

use serde::Serialize;

use olm_model::csv::{
    ApiServiceDefinitions, AppLink, ClusterServiceVersion, CustomResourceDefinitions, GroupVersionKind,
    InstallMode, Maintainer,
};

/// The value of `olm.csv.metadata`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CsvMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a BTreeMap<String, String>>,
    api_service_definitions: &'a ApiServiceDefinitions,
    crd_descriptions: &'a CustomResourceDefinitions,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    display_name: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    install_modes: &'a [InstallMode],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    keywords: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    links: &'a [AppLink],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    maintainers: &'a [Maintainer],
    #[serde(skip_serializing_if = "str::is_empty")]
    maturity: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    min_kube_version: &'a str,
    #[serde(rename = "nativeAPIs", skip_serializing_if = "<[_]>::is_empty")]
    native_apis: &'a [GroupVersionKind],
    provider: &'a AppLink,
}

impl<'a> CsvMetadata<'a> {
    /// Returns the fields of `csv` that consoles show.
    pub(crate) fn new(csv: &'a ClusterServiceVersion) -> Self {
        let spec = &csv.spec;
        Self {
            annotations: csv.metadata.annotations.as_ref().filter(|map| !map.is_empty()),
            api_service_definitions: &spec.apiservicedefinitions,
            crd_descriptions: &spec.customresourcedefinitions,
            description: &spec.description,
            display_name: &spec.display_name,
            install_modes: &spec.install_modes,
            keywords: &spec.keywords,
            labels: csv.metadata.labels.as_ref().filter(|map| !map.is_empty()),
            links: &spec.links,
            maintainers: &spec.maintainers,
            maturity: &spec.maturity,
            min_kube_version: &spec.min_kube_version,
            native_apis: &spec.native_apis,
            provider: &spec.provider,
        }
    }
}
