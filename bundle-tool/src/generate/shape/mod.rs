//! Objects as Go's types hold them: fields that a type does not have are dropped, zero values are left out where
//! the type says `omitempty`, and scalars take the type that the field wants.
//!
//! operator-sdk, OLM and every other Go program read a manifest into such types and write it out again; what comes
//! out here is what comes out there. The tables are data: one static a type, sorted by field; a type may embed another.

mod container;
mod core;
mod crd;
mod csv;
mod fields;
mod meta;
mod pod;
mod quantity;
mod scorecard;
mod volumes;
mod webhook;

pub(super) use self::core::{CLUSTER_ROLE, ROLE, ROLE_BINDING, SERVICE, SERVICE_ACCOUNT};
pub(super) use crd::{CUSTOM_RESOURCE_DEFINITION, CUSTOM_RESOURCE_DEFINITION_V1BETA1};
pub(super) use csv::CLUSTER_SERVICE_VERSION;
pub(super) use fields::{Change, Fields, conform};
pub(super) use pod::DEPLOYMENT;
pub(super) use scorecard::CONFIGURATION;
pub(super) use webhook::{MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION};
