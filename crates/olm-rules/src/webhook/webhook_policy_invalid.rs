use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-policy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A policy of a webhook is unknown, or its timeout is not between 1 and 30 seconds.",
    impacts: &[Impact::WebhookRejected],
    help: "set sideEffects to `None` or `NoneOnDryRun`, failurePolicy to `Fail` or `Ignore`, matchPolicy to `Exact` or `Equivalent`, and timeoutSeconds to a number from 1 to 30",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/admissionregistration/validation/validation.go",
        &["validateValidatingWebhook", "validateMutatingWebhook"],
    )
    .since("1.16")],
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    let typed = webhook.typed;
    let path = webhook.path;
    if let Some(effects) = &typed.side_effects {
        errors.one_of(&path.field("sideEffects"), effects, &["None", "NoneOnDryRun"]);
    }
    if let Some(policy) = &typed.failure_policy {
        errors.one_of(&path.field("failurePolicy"), policy, &["Fail", "Ignore"]);
    }
    if let Some(policy) = &typed.match_policy {
        errors.one_of(&path.field("matchPolicy"), policy, &["Exact", "Equivalent"]);
    }
    if let Some(policy) = &typed.reinvocation_policy
        && typed.r#type == "MutatingAdmissionWebhook"
    {
        errors.one_of(&path.field("reinvocationPolicy"), policy, &["Never", "IfNeeded"]);
    }
    if let Some(seconds) = typed.timeout_seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        errors.add(
            &path.field("timeoutSeconds"),
            format!("invalid timeout {seconds}: must be between 1 and 30"),
        );
    }
}
