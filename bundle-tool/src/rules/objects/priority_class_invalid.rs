use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "priority-class-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A PriorityClass has a priority above 1000000000, a name beginning with system-, or an unknown preemption policy.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "use a value up to 1000000000 and another name",
    source: "k8s.io/kubernetes, pkg/apis/scheduling/validation/validation.go",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::PriorityClass(class) = &known.typed else { return };
    let root = Path::ROOT;
    let name = class.metadata.name.as_deref().unwrap_or_default();
    if name.starts_with("system-") {
        let system = match name {
            "system-node-critical" => Some(2_000_001_000),
            "system-cluster-critical" => Some(2_000_000_000),
            _ => None,
        };
        if system != Some(class.value) || class.global_default == Some(true) {
            errors.add(&root.field("metadata.name"), "names beginning with system- are Kubernetes' own");
        }
    } else if class.value > 1_000_000_000 {
        errors.add(&root.field("value"), format!("{} is more than 1000000000", class.value));
    }
    if let Some(policy) = &class.preemption_policy {
        errors.one_of(&root.field("preemptionPolicy"), policy, &["PreemptLowerPriority", "Never"]);
    }
}
