use std::collections::BTreeSet;

use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-resize-policy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The resize policy of a container names an unknown resource or policy, or one resource twice.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "one item for cpu and one for memory, with NotRequired or RestartContainer",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateResizePolicy)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("resizePolicy");
        let mut seen = BTreeSet::new();
        for (index, item) in container.resize_policy.iter().flatten().enumerate() {
            let path = list.index(index);
            errors.one_of(&path.field("resourceName"), &item.resource_name, &["cpu", "memory"]);
            errors.one_of(
                &path.field("restartPolicy"),
                &item.restart_policy,
                &["NotRequired", "RestartContainer"],
            );
            if !seen.insert(&item.resource_name) {
                errors.add(&path, format!("'{}' has a policy already", item.resource_name));
            }
        }
    });
}
