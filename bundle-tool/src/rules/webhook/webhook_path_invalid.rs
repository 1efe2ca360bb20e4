use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::webhook::Webhook;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-path-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The path of a webhook does not begin with `/`, or has an empty part or one that is no DNS name.",
    why: "The API server refuses the webhook, and the CSV fails with InstallComponentFailed.",
    help: "use a path like /validate-v1-gizmo",
    source: "k8s.io/apiserver, pkg/util/webhook/validation.go (ValidateWebhookService)",
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut Errors<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    let Some(text) = webhook.typed.webhook_path.as_deref().filter(|text| !matches!(*text, "" | "/")) else {
        return;
    };
    let path = webhook.path.field("webhookPath");
    let Some(rest) = text.strip_prefix('/') else {
        errors.add(&path, format!("'{text}' does not begin with '/'"));
        return;
    };
    for part in rest.strip_suffix('/').unwrap_or(rest).split('/') {
        if part.is_empty() {
            errors.add(&path, format!("'{text}' has an empty part"));
            return;
        }
        if !errors.check(&path, names::dns_subdomain(part)) {
            return;
        }
    }
}
