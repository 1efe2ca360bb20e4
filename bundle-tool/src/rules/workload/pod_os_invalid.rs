use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-os-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "os.name is neither linux nor windows.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "use linux or windows, or take os out",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateOS)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if let Some(name) = template.os() {
        errors.one_of(&template.spec_path.field("os.name"), name, &["linux", "windows"]);
    }
}
