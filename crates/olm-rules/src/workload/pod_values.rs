//! Fields of pods and containers with a set of values.

use crate::prelude::*;

const FILE: &str = "pkg/apis/core/validation/validation.go";

pub(crate) static RULES: [Rule; 4] = [
    rule(
        "pod-image-pull-policy-invalid",
        "`imagePullPolicy` is not `Always`, `IfNotPresent` or `Never`.",
        "set imagePullPolicy to `Always`, `IfNotPresent` or `Never`, or remove it",
        &[Source::symbols(Project::Kubernetes, FILE, &["validatePullPolicy"]).since("1.16")],
        |template, errors| {
            template.each_container(|container, path, _| {
                let policy = container.image_pull_policy.as_deref().unwrap_or_default();
                errors.one_of(&path.field("imagePullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
            });
        },
    ),
    rule(
        "pod-os-invalid",
        "`os.name` is neither `linux` nor `windows`.",
        "set os.name to `linux` or `windows`, or remove os",
        &[Source::symbols(Project::Kubernetes, FILE, &["validateOS"]).since("1.24")],
        |template, errors| {
            if let Some(name) = template.os() {
                errors.one_of(&template.spec_path.field("os.name"), name, &["linux", "windows"]);
            }
        },
    ),
    rule(
        "pod-preemption-policy-invalid",
        "`preemptionPolicy` is neither `PreemptLowerPriority` nor `Never`.",
        "set preemptionPolicy to `PreemptLowerPriority` or `Never`, or remove it",
        &[Source::symbols(Project::Kubernetes, FILE, &["ValidatePreemptionPolicy"]).since("1.19")],
        |template, errors| {
            if let Some(policy) = &template.spec.preemption_policy {
                let path = template.spec_path.field("preemptionPolicy");
                errors.one_of(&path, policy, &["PreemptLowerPriority", "Never"]);
            }
        },
    ),
    rule(
        "pod-termination-message-invalid",
        "`terminationMessagePolicy` is neither `File` nor `FallbackToLogsOnError`.",
        "set terminationMessagePolicy to `File` or `FallbackToLogsOnError`, or remove it",
        &[Source::symbols(Project::Kubernetes, FILE, &["validateContainerCommon"]).since("1.16")],
        |template, errors| {
            template.each_container(|container, path, _| {
                let policy = container.termination_message_policy.as_deref().unwrap_or_default();
                let path = path.field("terminationMessagePolicy");
                errors.one_of(&path, policy, &["File", "FallbackToLogsOnError"]);
            });
        },
    ),
];

const fn rule(
    id: &'static str,
    what: &'static str,
    help: &'static str,
    sources: &'static [Source],
    check: fn(&PodTemplate<'_>, &mut ErrorReporter<'_, '_>),
) -> Rule {
    Rule {
        id,
        suite: Suite::Bundle,
        severity: Severity::Error,
        what,
        impacts: &[Impact::DeploymentRejected],
        help,
        sources,
        check: Check::PodTemplate(check),
    }
}
