//! What all parts are rendered from, and why a bundle cannot be rendered.

use std::collections::BTreeMap;

use olm_model::bundle::BadFile;
use serde_json::{Map, Value, json};

/// The maximum number of objects that are made: roles exist once for each watched namespace.
pub const MAX_OBJECTS: usize = 5000;

/// Why a bundle cannot be installed without OLM.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the bundle cannot be read, or is not valid YAML.
    #[error("failed to read the bundle: {0}")]
    File(#[from] BadFile),
    /// There is no CSV.
    #[error("the bundle contains no ClusterServiceVersion in manifests/")]
    NoCsv,
    /// The bundle does not support the requested install mode.
    #[error("the bundle does not support install mode `{mode}`, {supported}")]
    InstallMode {
        /// The requested mode.
        mode: String,
        /// What it supports: `only`, and its modes.
        supported: String,
    },
    /// OLM itself serves or creates something that plain manifests cannot have.
    #[error("{0}")]
    Unsupported(String),
    /// The certificate cannot be made.
    #[cfg(feature = "certificates")]
    #[error("failed to create a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// There would be too many objects.
    #[error("the bundle needs more than {MAX_OBJECTS} objects in this install mode")]
    TooMany,
}

/// Where the certificates of webhooks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificates {
    /// From cert-manager, which must be installed.
    CertManager,
    /// Made now, and not renewed.
    #[cfg(feature = "certificates")]
    SelfSigned,
}

/// A certificate with its key and its authority, as PEM. The authority's key is not kept.
#[derive(Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// The certificate of the authority.
    pub authority: String,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Pair").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// How the operator is installed.
#[derive(Debug, Clone)]
pub struct Options {
    /// The namespace of the operator.
    pub namespace: String,
    /// The namespaces that it watches, none for all.
    pub targets: Vec<String>,
    /// Where the certificates of webhooks come from.
    pub certificates: Certificates,
}

/// What the parts are rendered from.
pub(crate) struct Context<'a> {
    pub(crate) csv: &'a Value,
    pub(crate) options: &'a Options,
    pub(crate) webhooks: Vec<&'a Value>,
    pub(crate) certificates: BTreeMap<String, Pair>,
}

impl Context<'_> {
    pub(crate) fn name(&self) -> &str {
        string(self.csv, "/metadata/name")
    }

    pub(crate) fn deployments(&self) -> &[Value] {
        list(self.csv, "/spec/install/spec/deployments")
    }

    pub(crate) fn is_global(&self) -> bool {
        self.options.targets.is_empty()
    }
}

/// Returns the string at a JSON pointer; empty if there is none.
pub(crate) fn string<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the list at a JSON pointer; empty if there is none.
pub(crate) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn object(api_version: &str, kind: &str, name: &str, namespace: Option<&str>) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
}

/// Returns the map in a field, made if it is missing or something else.
pub(crate) fn map<'v>(value: &'v mut Value, field: &str) -> Option<&'v mut Map<String, Value>> {
    let field = value.as_object_mut()?.entry(field).or_insert_with(|| json!({}));
    if !field.is_object() {
        *field = json!({});
    }
    field.as_object_mut()
}
