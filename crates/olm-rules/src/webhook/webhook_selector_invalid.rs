use crate::kubernetes::selectors;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-selector-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The object selector of a webhook is invalid.",
    impacts: &[Impact::WebhookRejected],
    help: "use valid label keys and values in matchLabels, and set key, operator and values in each entry of matchExpressions",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/admissionregistration/validation/validation.go",
        &["validateValidatingWebhook"],
    )
    .since("1.16")],
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    selectors::validate(
        webhook.typed.object_selector.as_ref(),
        &webhook.path.field("objectSelector"),
        errors,
    );
}
