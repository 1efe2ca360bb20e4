use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-container-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container has no name, or one that is no DNS label.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "use lower case letters, digits and `-`, at most 63 of them",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateContainerCommon)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let path = path.field("name");
        if errors.required(&path, &container.name) {
            errors.check(&path, names::dns_label(&container.name));
        }
    });
}
