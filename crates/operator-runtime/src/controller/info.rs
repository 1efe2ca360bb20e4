//! What is known of a controller without running it.

use super::owns::Owns;
use kube::core::ApiResource;
use std::sync::Arc;

/// What manifests, permissions and metrics need of a controller.
#[derive(Clone, Debug)]
pub(crate) struct ControllerInfo {
    /// The kind in lower case, for metrics.
    pub(crate) name: String,
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) owns: Arc<Owns>,
    pub(crate) finalizer: Option<&'static str>,
}
