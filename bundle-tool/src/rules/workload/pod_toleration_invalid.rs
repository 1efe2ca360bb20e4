use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::{PodTemplate, tolerations};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-toleration-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A toleration has a key, operator, value or effect that does not fit the others.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "operator Exists takes no value; an empty key needs Exists; tolerationSeconds needs the effect NoExecute",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateTolerations)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let list = template.spec_path.field("tolerations");
    for (index, toleration) in template.spec.tolerations.iter().flatten().enumerate() {
        let path = list.index(index);
        for (field, message) in tolerations::faults(toleration) {
            errors.add(&path.field(field), message);
        }
    }
}
