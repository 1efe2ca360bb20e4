use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "service-topology-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two annotations of a Service about topology say different things.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "leave service.kubernetes.io/topology-mode",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateService)",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let value =
        |key: &str| service.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key));
    let mode = value("service.kubernetes.io/topology-mode");
    if let (Some(hints), Some(mode)) = (value("service.kubernetes.io/topology-aware-hints"), mode)
        && hints != mode
    {
        let annotations = root.field("metadata.annotations");
        let message = format!("'{mode}' differs from '{hints}' of topology-aware-hints");
        errors.add(&annotations.key("service.kubernetes.io/topology-mode"), message);
    }
}
