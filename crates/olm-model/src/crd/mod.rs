//! A `CustomResourceDefinition`'s schemas, read in place: CRDs are the largest part of most bundles, so nothing is
//! copied into types of their own. The semantics are those of Kubernetes' JSON decoder: null is "not set", the last of
//! equal keys counts, and a value of the wrong type is a defect of its own.
//!
//! Source: `pkg/apis/apiextensions/v1/types_jsonschema.go` and `marshal.go` of `k8s.io/apiextensions-apiserver`.

mod keyword;
mod schema;
mod version_order;

pub use keyword::{Keyword, Keywords, Shape};
pub use schema::{Additional, Items, Schema};
pub use version_order::compare_versions;
