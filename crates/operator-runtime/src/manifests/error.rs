//! What can fail when manifests are generated or written.

use crate::crd;
use crate::operator::InvalidOperator;

/// Why manifests could not be generated or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operator cannot run as it is.
    #[error(transparent)]
    Operator(#[from] InvalidOperator),
    /// A CRD could not be generated.
    #[error("failed to generate a CRD: {0}")]
    Crd(#[from] crd::Error),
    /// An object could not be converted to JSON.
    #[error("failed to serialize a manifest: {0}")]
    Json(#[from] serde_json::Error),
    /// An object could not be converted to YAML.
    #[error("failed to write a manifest as YAML: {0}")]
    Yaml(#[from] serde_saphyr::ser::Error),
    /// A file or directory could not be written.
    #[error(transparent)]
    Write(#[from] atomic_files::Error),
}
