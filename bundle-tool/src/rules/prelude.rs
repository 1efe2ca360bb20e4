//! What the file of a rule needs: the type of a rule with its documentation, what is validated, and where findings go.

pub(super) use super::errors::Errors;
pub(super) use super::reporter::Reporter;
pub(super) use super::rule::{Check, Rule};
pub(super) use super::subjects::{
    ContainerRole, Context, Crd, Csv, Deployment, Known, Metadata, Place, PodTemplate, SchemaNode,
    SchemaRole, Typed, ValidSchema, Version, Webhook,
};
pub(super) use crate::model::yaml::Path;
pub(super) use crate::report::{Change, Fix, Impact, Project, Safety, Severity, Source, Suite};
