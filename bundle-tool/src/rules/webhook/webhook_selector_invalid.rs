use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, selectors};
use crate::rules::webhook::Webhook;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-selector-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The object selector of a webhook cannot be one.",
    why: "The API server refuses the webhook, and the CSV fails with InstallComponentFailed.",
    help: "give matchExpressions a key, an operator, and the values that it takes",
    source: "k8s.io/kubernetes, pkg/apis/admissionregistration/validation/validation.go (validateValidatingWebhook)",
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut Errors<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    selectors::validate(
        webhook.typed.object_selector.as_ref(),
        &webhook.path.field("objectSelector"),
        errors,
    );
}
