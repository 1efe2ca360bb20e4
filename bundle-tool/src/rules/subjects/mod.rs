//! What is validated: views of the model, decoded and prepared as OLM and the API server do it, that several rules share.
//! They import the model alone; rules and the types of rules import them.

mod compressed_size;
mod context;
mod crd;
mod csv;
mod deployment;
mod effort;
mod known;
mod metadata;
mod pod_template;
mod prepare;
mod same;
mod schema;
mod settings;
mod valid_schema;
mod webhook;

pub(super) use compressed_size::{LARGE_BUNDLE_SIZE, MAX_BUNDLE_SIZE};
pub(super) use context::Context;
pub(super) use crd::{Crd, Version};
pub(super) use csv::Csv;
pub(super) use deployment::Deployment;
pub(super) use effort::Effort;
pub(super) use known::{Known, Typed};
pub(super) use metadata::{MAX_ANNOTATIONS, Metadata, annotation_bytes};
pub(super) use pod_template::{ContainerRole, PodTemplate};
pub(super) use schema::{Place, SchemaNode, SchemaRole};
pub use settings::{Extension, Settings};
pub(super) use valid_schema::{ValidSchema, cel_schema};
pub(super) use webhook::Webhook;
