use crate::prelude::*;
use crate::workload::tolerations;

pub(crate) static RULE: Rule = Rule {
    id: "pod-toleration-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A toleration has an invalid combination of key, operator, value and effect.",
    impacts: &[Impact::DeploymentRejected],
    help: "use operator `Exists` without a value or with an empty key, and tolerationSeconds only with effect `NoExecute`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateTolerations"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let list = template.spec_path.field("tolerations");
    for (index, toleration) in template.spec.tolerations.iter().flatten().enumerate() {
        let path = list.index(index);
        for (field, message) in tolerations::faults(toleration) {
            errors.add(&path.field(field), message);
        }
    }
}
