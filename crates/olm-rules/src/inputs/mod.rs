//! The inputs of rules: views of the model that several rules share, decoded and prepared as OLM and the API server do.
//! They import the model alone; rules and the types of rules import them.

mod claim;
mod compressed_size;
mod context;
mod crd;
mod csv;
mod deployment;
mod known;
mod metadata;
mod pod_template;
mod prepare;
mod same;
mod schema;
mod settings;
mod valid_schema;
mod webhook;
mod work_budget;

pub(crate) use compressed_size::{LARGE_BUNDLE_SIZE, MAX_BUNDLE_SIZE};
pub(crate) use context::Context;
pub(crate) use crd::{Crd, Version};
pub(crate) use csv::Csv;
pub(crate) use deployment::Deployment;
pub(crate) use known::{BuiltinObject, Typed};
pub(crate) use metadata::{MAX_ANNOTATIONS, Metadata, annotation_bytes};
pub(crate) use pod_template::{ContainerRole, PodTemplate};
pub(crate) use prepare::{RESTART_POLICIES, feature};
pub(crate) use schema::{SchemaNode, SchemaRole, StructuralPosition};
pub use settings::{Extension, Settings};
pub(crate) use valid_schema::{ValidSchema, cel_schema};
pub(crate) use webhook::Webhook;
pub(crate) use work_budget::WorkBudget;
