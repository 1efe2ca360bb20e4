use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::webhook::Webhook;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-policy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A policy of a webhook is unknown, or its timeout is not from 1 to 30 seconds.",
    why: "The API server refuses the webhook, and the CSV fails with InstallComponentFailed.",
    help: "set sideEffects to None or NoneOnDryRun, failurePolicy to Fail or Ignore, matchPolicy to Exact or Equivalent",
    source: "k8s.io/kubernetes, pkg/apis/admissionregistration/validation/validation.go (validateValidatingWebhook, validateMutatingWebhook)",
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut Errors<'_, '_>) {
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
        errors.add(&path.field("timeoutSeconds"), format!("{seconds} is not from 1 to 30"));
    }
}
