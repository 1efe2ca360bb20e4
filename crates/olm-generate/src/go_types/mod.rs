//! Objects in the form that Go programs write: unknown fields are dropped, zero values of `omitempty` fields are omitted,
//! and scalars are converted to the type of their field.
//!
//! operator-sdk and OLM decode manifests into Go types and encode them again; this module produces the same result. The
//! tables are data: one static for each type, sorted by field. A type may embed another one.

mod container;
mod core;
mod crd;
mod csv;
mod fields;
mod meta;
mod pod;
mod scorecard;
mod volumes;
mod webhook;

pub(crate) use self::core::{CLUSTER_ROLE, ROLE, ROLE_BINDING, SERVICE, SERVICE_ACCOUNT};
pub(crate) use crd::{CUSTOM_RESOURCE_DEFINITION, CUSTOM_RESOURCE_DEFINITION_V1BETA1};
pub(crate) use csv::CLUSTER_SERVICE_VERSION;
pub(crate) use fields::{Change, GoStruct, conform};
pub(crate) use pod::DEPLOYMENT;
pub(crate) use scorecard::CONFIGURATION;
pub(crate) use webhook::{MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION};
