use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "service-selector-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of a Service's selector has a key or value that Kubernetes does not take.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "select the pods by labels that they can have",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateService)",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    labels::validate(selector, &root.field("spec.selector"), errors);
}
