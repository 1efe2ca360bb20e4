//! What the file of a rule needs: the type of a rule with its documentation, what is validated, and where findings go.

pub(crate) use super::errors::ErrorReporter;
pub(crate) use super::inputs::{
    BuiltinObject, ContainerRole, Context, Crd, Csv, Deployment, Metadata, PodTemplate, SchemaNode,
    SchemaRole, StructuralPosition, Typed, ValidSchema, Version, Webhook,
};
pub(crate) use super::reporter::Reporter;
pub(crate) use super::rule::{Check, Rule};
pub(crate) use kube_yaml::Path;
pub(crate) use kubernetes_cel::Server;
pub(crate) use olm_model::report::{Change, Fix, Impact, Project, Safety, Severity, Source, Suite};
