use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-preemption-policy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`preemptionPolicy` is neither `PreemptLowerPriority` nor `Never`.",
    impacts: &[Impact::DeploymentRejected],
    help: "set preemptionPolicy to `PreemptLowerPriority` or `Never`, or remove it",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidatePreemptionPolicy"],
    )],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if let Some(policy) = &template.spec.preemption_policy {
        errors.one_of(
            &template.spec_path.field("preemptionPolicy"),
            policy,
            &["PreemptLowerPriority", "Never"],
        );
    }
}
