//! Generates the manifests that deploy an operator: CRDs, RBAC, the manager and samples.
//!
//! [`tree()`] is the kustomize tree of `config/`, with the names of kubebuilder's scaffold; [`documents`] is what
//! `config/manifests` renders to, with prefix and namespace, for use without kustomize, [`documents_for_olm`] is what a bundle is generated from, and
//! [`crd_documents`] are the CRDs alone. Nothing here connects to a
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
pub use tree::{Tree, crd_documents, documents, documents_for_olm, tree};
pub use yaml::document;

#[cfg(test)]
pub(crate) use naming::Form;
#[cfg(test)]
pub(crate) use tree::crds;
#[cfg(any(test, feature = "testing"))]
pub(crate) use webhook::webhooks;
