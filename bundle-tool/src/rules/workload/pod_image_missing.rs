use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-image-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container has no image.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "set image to the image that the container runs",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateContainerCommon)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        errors.required(&path.field("image"), container.image.as_deref().unwrap_or_default());
    });
}
