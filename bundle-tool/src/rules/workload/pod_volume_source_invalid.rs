use super::volumes;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-volume-source-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A volume lacks what its type needs, or has a value that its type does not take.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give the volume what its type needs",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateVolumeSource)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_volume(|volume, path| volumes::validate(volume, path, errors));
}
