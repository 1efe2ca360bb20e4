//! A `CustomResourceDefinition`'s schemas, looked at in place: CRDs are most of what bundles weigh, so nothing is
//! copied into types of their own. What Kubernetes' JSON decoder makes of each value is kept: null is "not set", of
//! equal keys the last counts, and a value of the wrong type is a defect of its own.
//!
//! Source: `pkg/apis/apiextensions/v1/types_jsonschema.go` and `marshal.go` of `k8s.io/apiextensions-apiserver`.

mod keyword;
mod schema;

pub use keyword::{Keyword, Keywords, Shape};
pub use schema::{Additional, Items, Schema};
