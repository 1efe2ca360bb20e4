use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-image-pull-policy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`imagePullPolicy` is not `Always`, `IfNotPresent` or `Never`.",
    impacts: &[Impact::DeploymentRejected],
    help: "set imagePullPolicy to `Always`, `IfNotPresent` or `Never`, or remove it",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validatePullPolicy"],
    )],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let policy = container.image_pull_policy.as_deref().unwrap_or_default();
        errors.one_of(&path.field("imagePullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
    });
}
