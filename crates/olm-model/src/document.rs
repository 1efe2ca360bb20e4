//! One YAML document and the file that it stands in.

use kube_yaml::Tree;

/// A document of plain manifests, as `generate` takes them.
#[derive(Debug)]
pub struct Document {
    /// The file as the user would name it; `standard input` for what comes from there.
    pub file: String,
    /// The document.
    pub tree: Tree,
}
