use crate::kubernetes::labels;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-node-selector-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of the node selector has an invalid key or value.",
    impacts: &[Impact::DeploymentRejected],
    help: "set nodeSelector to labels of nodes, such as `kubernetes.io/os: linux`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidatePodSpec"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    labels::validate(template.spec.node_selector.as_ref(), &template.spec_path.field("nodeSelector"), errors);
}
