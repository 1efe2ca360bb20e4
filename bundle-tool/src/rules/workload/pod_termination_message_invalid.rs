use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-termination-message-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`terminationMessagePolicy` is neither `File` nor `FallbackToLogsOnError`.",
    impacts: &[Impact::DeploymentRejected],
    help: "set terminationMessagePolicy to `File` or `FallbackToLogsOnError`, or remove it",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateContainerCommon"],
    )],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let policy = container.termination_message_policy.as_deref().unwrap_or_default();
        errors.one_of(&path.field("terminationMessagePolicy"), policy, &["File", "FallbackToLogsOnError"]);
    });
}
