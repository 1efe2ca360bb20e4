use crate::kubernetes::{numbers, selectors};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "disruption-budget-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A PodDisruptionBudget sets both limits, or has an invalid limit, selector or eviction policy.",
    impacts: &[Impact::ObjectRejected],
    help: "set either minAvailable or maxUnavailable",
    sources: &[Source::file(Project::Kubernetes, "pkg/apis/policy/validation/validation.go").since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::PodDisruptionBudget(budget) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &budget.spec else { return };
    let path = root.field("spec");
    if spec.min_available.is_some() && spec.max_unavailable.is_some() {
        errors.add(&path, "`minAvailable` and `maxUnavailable` are mutually exclusive");
    }
    for (field, value) in [("minAvailable", &spec.min_available), ("maxUnavailable", &spec.max_unavailable)] {
        if let Some(value) = value {
            let path = path.field(field);
            numbers::count_or_percentage(value, &path, errors);
            numbers::at_most_everything(value, &path, errors);
        }
    }
    selectors::validate(spec.selector.as_ref(), &path.field("selector"), errors);
    if let Some(policy) = &spec.unhealthy_pod_eviction_policy {
        errors.one_of(&path.field("unhealthyPodEvictionPolicy"), policy, &["IfHealthyBudget", "AlwaysAllow"]);
    }
}
