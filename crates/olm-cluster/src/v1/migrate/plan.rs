//! An operator that is to be moved, and the plan of its move.

use serde::Serialize;
use serde_json::Value;

use crate::v1::manifests::{ClusterCatalog, ClusterExtension};
use kube_yaml::text::null_if_empty;

/// Something that keeps an operator from being moved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Blocker {
    /// The rule of `validate`, or a name of the reason.
    pub reason: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(serialize_with = "null_if_empty")]
    pub help: String,
}

impl Blocker {
    /// Returns a blocker.
    #[must_use]
    pub fn new(reason: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into(), help: help.into() }
    }
}

/// One step of the move.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// What the step does.
    pub text: String,
    /// The commands.
    pub commands: Vec<String>,
    /// What is applied before the commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Value>,
}

/// How an operator is moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The package.
    pub package: String,
    /// The bundle: its CSV's name.
    #[serde(serialize_with = "null_if_empty")]
    pub bundle: String,
    /// The namespace of the operator.
    #[serde(serialize_with = "null_if_empty")]
    pub namespace: String,
    /// Whether the operator can be moved.
    pub movable: bool,
    /// Whether all manifests of the bundle were checked.
    pub complete: bool,
    /// What blocks the move.
    pub blockers: Vec<Blocker>,
    /// What changes with the move.
    pub notes: Vec<String>,
    /// What to do, in order; nothing if the move is blocked.
    pub steps: Vec<Step>,
}

/// What is known of an operator that is to be moved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operator {
    /// The bundle: its CSV's name.
    pub bundle: String,
    /// The `ClusterExtension`.
    pub extension: ClusterExtension,
    /// The `ClusterCatalog`.
    pub catalog: Option<ClusterCatalog>,
    /// Whether some manifests of the bundle are not at hand, so that they are not checked.
    pub is_partial: bool,
    /// What blocks the move.
    pub blockers: Vec<Blocker>,
    /// What changes with the move.
    pub notes: Vec<String>,
    /// What is installed; nothing if the plan is for no particular cluster.
    pub installed: Option<Installed>,
}

/// What OLM v0 has installed on a cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Installed {
    /// The CSV's object.
    pub csv: Value,
    /// The `Subscription`.
    pub(crate) subscription: String,
    /// `OperatorGroup`s that nothing else needs.
    pub(crate) groups: Vec<String>,
    /// The `CatalogSource` in a namespace, if nothing else needs it.
    pub(crate) source: Option<(String, String)>,
    /// The names of the owned CRDs.
    pub crds: Vec<String>,
    /// Whether OLM v0 deletes the objects of the CRDs with the CSV.
    pub(crate) deletes_objects: bool,
    /// Whether upgrades are installed without approval.
    pub(crate) is_automatic: bool,
}

/// Why no operator was found.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotFound {
    /// There is no subscription.
    #[error("package `{0}` is not installed: no Subscription names it")]
    Package(String),
    /// There are several subscriptions.
    #[error(
        "package `{package}` is installed in several namespaces: {namespaces}; choose one with --namespace"
    )]
    Several {
        /// The package.
        package: String,
        /// The namespaces.
        namespaces: String,
    },
    /// The subscription has installed nothing.
    #[error(
        "subscription `{name}` of package `{package}` has installed nothing yet; run `bundle-tool doctor {package}`"
    )]
    Nothing {
        /// The package.
        package: String,
        /// The subscription.
        name: String,
    },
}
