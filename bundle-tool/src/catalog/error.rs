//! Why a bundle cannot be put into a catalogue.

use crate::model::yaml::DecodeError;

/// Why a bundle cannot be put into a catalogue.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// There is no `ClusterServiceVersion`.
    #[error("no file in manifests/ holds a ClusterServiceVersion")]
    NoCsv,
    /// The CSV is no such thing to OLM.
    #[error("{file}:{}:{}: {error}", error.position.line, error.position.column)]
    Csv {
        /// The CSV's file.
        file: String,
        /// What does not fit.
        error: DecodeError,
    },
    /// There are no annotations.
    #[error("metadata/annotations.yaml is missing or has no map `annotations`")]
    NoAnnotations,
    /// An owned API is not in the bundle.
    #[error("the CSV owns {kind} {version} of '{name}', which no CRD in manifests/ serves")]
    OwnedMissing {
        /// The CRD's name as the CSV has it.
        name: String,
        /// The version as the CSV has it.
        version: String,
        /// The kind as the CSV has it.
        kind: String,
    },
    /// A CRD's name has no group.
    #[error("the CRD name '{0}' is not of the form plural.group")]
    CrdName(String),
    /// A value cannot be written as JSON.
    #[error("failed to write a property as JSON")]
    Json(#[from] serde_json::Error),
}
