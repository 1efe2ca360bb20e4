use std::collections::BTreeSet;

use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-gate-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A readiness gate or scheduling gate has a name that is no qualified name, or a scheduling gate is there twice.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "name gates like example.com/ready, each once",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateReadinessGates, validateSchedulingGates)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
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
            errors.add(&path, format!("'{}' is there already", gate.name));
        }
    }
}
