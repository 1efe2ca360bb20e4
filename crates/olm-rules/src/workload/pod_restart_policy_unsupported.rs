use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-restart-policy-unsupported",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The restart policy of a Deployment's pods is not `Always`.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove restartPolicy",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/apps/validation/validation.go",
        &["ValidatePodTemplateSpecForReplicaSet"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let policy = template.spec.restart_policy.as_deref().unwrap_or_default();
    if policy != "Always" {
        let message = format!("unsupported restartPolicy `{policy}`: must be `Always` for a Deployment");
        errors.add(&template.spec_path.field("restartPolicy"), message);
    }
}
