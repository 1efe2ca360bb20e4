//! The parameters of the requests that write.

use kube::api::{PatchParams, ValidationDirective};

/// Returns the parameters of an apply by a field manager.
///
/// Unknown and duplicate fields are not looked for: typed objects have none, and the API server would read each object as YAML a
/// second time.
pub(super) fn apply(manager: &str) -> PatchParams {
    PatchParams::apply(manager).force().validation(ValidationDirective::Ignore)
}
