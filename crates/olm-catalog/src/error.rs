//! Why a bundle cannot be rendered for a catalog.

use kube_yaml::DecodeError;

/// Why a bundle cannot be rendered for a catalog.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The bundle has no `ClusterServiceVersion`.
    #[error("manifests/ contains no ClusterServiceVersion")]
    NoCsv,
    /// The CSV cannot be decoded.
    #[error("{file}:{}:{}: {error}", error.position.line, error.position.column)]
    Csv {
        /// The CSV's file.
        file: String,
        /// What is wrong.
        error: DecodeError,
    },
    /// The bundle has no annotations.
    #[error("metadata/annotations.yaml does not exist, or has no map `annotations`")]
    NoAnnotations,
    /// An owned CRD is not in the bundle.
    #[error("the CSV owns {kind} {version} of `{name}`, but no CRD in manifests/ serves it")]
    OwnedMissing {
        /// The CRD's name as the CSV has it.
        name: String,
        /// The version as the CSV has it.
        version: String,
        /// The kind as the CSV has it.
        kind: String,
    },
    /// The name of a CRD has no group.
    #[error("invalid CRD name `{0}`: expected `plural.group`")]
    CrdName(String),
    /// A value cannot be written as JSON.
    #[error("failed to write a property as JSON")]
    Json(#[from] serde_json::Error),
}
