use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-path-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The path of a webhook does not start with `/`, or has a segment that is empty or not a DNS name.",
    impacts: &[Impact::WebhookRejected],
    help: "set webhookPath to a path like `/validate-v1-gizmo`",
    sources: &[Source::symbols(
        Project::Apiserver,
        "pkg/util/webhook/validation.go",
        &["ValidateWebhookService"],
    )
    .since("1.16")],
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    let Some(text) = webhook.typed.webhook_path.as_deref().filter(|text| !matches!(*text, "" | "/")) else {
        return;
    };
    let path = webhook.path.field("webhookPath");
    let Some(rest) = text.strip_prefix('/') else {
        errors.add(&path, format!("invalid path `{text}`: must start with `/`"));
        return;
    };
    for part in rest.strip_suffix('/').unwrap_or(rest).split('/') {
        if part.is_empty() {
            errors.add(&path, format!("invalid path `{text}`: must not have empty segments"));
            return;
        }
        if !errors.check(&path, names::dns_subdomain(part)) {
            return;
        }
    }
}
