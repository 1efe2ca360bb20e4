//! One file of a bundle, with the documents in it.

use kube_yaml::{First, Position, SyntaxError, Tree};

/// The directory of the objects, within a bundle.
pub const MANIFESTS: &str = "manifests/";
/// The directory of `annotations.yaml`, `dependencies.yaml` and `properties.yaml`, within a bundle.
pub const METADATA: &str = "metadata/";

/// One file of a bundle.
#[derive(Debug)]
pub struct File {
    /// The path below the bundle's directory, with `/` between the parts: `manifests/memcached.crd.yaml`.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The content.
    pub content: Content,
    /// The bytes, to show them with findings; empty if the file was not read.
    pub bytes: Vec<u8>,
}

/// The content of a file.
#[derive(Debug)]
pub enum Content {
    /// YAML (or JSON) documents; `error` if reading stopped before the end.
    Documents {
        /// The documents that could be read; empty ones are omitted.
        documents: Vec<Tree>,
        /// Why the rest could not be read.
        error: Option<SyntaxError>,
        /// What precedes the first separator, which is all that OLM and its tools read.
        first: First,
        /// The position of a string that is valid in JSON and rejected by YAML parsers.
        json_only: Option<Position>,
    },
    /// A file outside `manifests/` and `metadata/` that is not named as YAML or JSON: not read.
    Other,
    /// A file that could not be read, with the reason.
    Unreadable(String),
}

impl File {
    /// Returns the document that other tools take for the whole file: the first, if there is one.
    #[must_use]
    pub fn document(&self) -> Option<&Tree> {
        match &self.content {
            Content::Documents { documents, first: First::Value, .. } => documents.first(),
            _ => None,
        }
    }

    /// Returns the documents that could be read.
    #[must_use]
    pub fn documents(&self) -> &[Tree] {
        match &self.content {
            Content::Documents { documents, .. } => documents,
            Content::Other | Content::Unreadable(_) => &[],
        }
    }

    /// Returns the last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns whether the file is directly in `manifests/`, where OLM reads objects.
    #[must_use]
    pub fn is_manifest(&self) -> bool {
        self.path.strip_prefix(MANIFESTS).is_some_and(|rest| !rest.contains('/'))
    }

    /// Returns whether the file is directly in `metadata/`.
    #[must_use]
    pub fn is_metadata(&self) -> bool {
        self.path.strip_prefix(METADATA).is_some_and(|rest| !rest.contains('/'))
    }
}
