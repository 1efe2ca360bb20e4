use std::collections::BTreeSet;

use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-container-name-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two containers of a pod have the same name, init containers among them.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give each container a name of its own",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateContainers, validateInitContainers)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let mut seen = BTreeSet::new();
    template.each_container(|container, path, _| {
        if !container.name.is_empty() && !seen.insert(&container.name) {
            errors.add(&path.field("name"), format!("another container is named '{}'", container.name));
        }
    });
}
