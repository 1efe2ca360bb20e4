use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, numbers, selectors};
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "disruption-budget-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A PodDisruptionBudget has both limits, a limit that is no count or percentage, a selector that cannot be, or an unknown eviction policy.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "set minAvailable or maxUnavailable, and not both",
    source: "k8s.io/kubernetes, pkg/apis/policy/validation/validation.go",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::PodDisruptionBudget(budget) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &budget.spec else { return };
    let path = root.field("spec");
    if spec.min_available.is_some() && spec.max_unavailable.is_some() {
        errors.add(&path, "minAvailable and maxUnavailable are both set");
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
