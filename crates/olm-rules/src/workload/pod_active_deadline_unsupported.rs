use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-active-deadline-unsupported",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The pods of a Deployment have an active deadline.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove activeDeadlineSeconds: it is only supported for Jobs",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/apps/validation/validation.go",
        &["ValidatePodTemplateSpecForReplicaSet"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if template.spec.active_deadline_seconds.is_some() {
        let path = template.spec_path.field("activeDeadlineSeconds");
        errors.add(&path, "unexpected `activeDeadlineSeconds`: not supported for a Deployment");
    }
}
