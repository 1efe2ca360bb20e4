use std::collections::BTreeSet;

use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-gate-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A readiness gate or scheduling gate has an invalid name, or a scheduling gate is duplicated.",
    impacts: &[Impact::DeploymentRejected],
    help: "use unique names like `example.com/ready`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateReadinessGates", "validateSchedulingGates"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let list = template.spec_path.field("readinessGates");
    for (index, gate) in template.spec.readiness_gates.iter().flatten().enumerate() {
        errors.check(&list.index(index).field("conditionType"), names::qualified(&gate.condition_type));
    }
    let list = template.spec_path.field("schedulingGates");
    let mut seen = BTreeSet::new();
    for (index, gate) in template.spec.scheduling_gates.iter().flatten().enumerate() {
        let path = list.index(index);
        let path = path.field("name");
        if errors.check(&path, names::qualified(&gate.name)) && !seen.insert(&gate.name) {
            errors.add(&path, format!("duplicate scheduling gate `{}`", gate.name));
        }
    }
}
