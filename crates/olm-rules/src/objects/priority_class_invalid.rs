use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "priority-class-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A PriorityClass has a priority above 1000000000, a name that starts with `system-`, or an unknown preemption policy.",
    impacts: &[Impact::ObjectRejected],
    help: "set value to at most 1000000000, and use a name that does not start with `system-`",
    sources: &[
        Source::file(Project::Kubernetes, "pkg/apis/scheduling/validation/validation.go").since("1.16")
    ],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
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
            errors.add(
                &root.field("metadata.name"),
                format!("invalid name `{name}`: the prefix `system-` is reserved"),
            );
        }
    } else if class.value > 1_000_000_000 {
        errors
            .add(&root.field("value"), format!("invalid value {}: must not exceed 1000000000", class.value));
    }
    if let Some(policy) = &class.preemption_policy {
        errors.one_of(&root.field("preemptionPolicy"), policy, &["PreemptLowerPriority", "Never"]);
    }
}
