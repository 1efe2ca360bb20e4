use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-process-namespace-conflict",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod sets both `shareProcessNamespace` and `hostPID`.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove shareProcessNamespace or hostPID",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validatePodSpecSecurityContext"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if template.spec.share_process_namespace == Some(true) && template.spec.host_pid == Some(true) {
        let path = template.spec_path.field("shareProcessNamespace");
        errors.add(&path, "`shareProcessNamespace` and `hostPID` are mutually exclusive");
    }
}
