//! Generates the manifests that deploy an operator: CRDs, RBAC, the manager and samples.
//!
//! [`tree()`] is the kustomize tree of `config/`, with the names of kubebuilder's scaffold; [`documents`] is what
//! `config/manifests` renders to, with prefix and namespace, for use without kustomize. Nothing here connects to a
//! cluster; [`write`](write::write) is the only function that touches files.

mod error;
mod kustomize;
mod manager;
mod naming;
mod observe;
mod rbac;
mod tree;
mod webhook;
pub mod write;
mod yaml;

pub use error::Error;
pub use tree::{Tree, documents, tree};
pub use yaml::document;

#[cfg(any(test, feature = "testing"))]
pub(crate) use webhook::webhooks;
