use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `generateName` of a webhook is missing, has fewer than three parts, or is longer than 63 characters.",
    impacts: &[Impact::WebhookRejected],
    help: "set generateName to a name like `vgizmo.gadgets.example.com`",
    sources: &[
        Source::symbols(
            Project::Kubernetes,
            "pkg/apis/admissionregistration/validation/validation.go",
            &["validateValidatingWebhook"],
        )
        .since("1.16"),
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/install/webhook.go",
            &["addWebhookLabels"],
        )
        .since("0.15"),
    ],
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    let path = webhook.path.field("generateName");
    let name = &webhook.typed.generate_name;
    if errors.required(&path, name) && errors.check(&path, names::fully_qualified(name)) && name.len() > 63 {
        errors.add(
            &path,
            format!("name of {} characters exceeds the limit of 63 characters for a label value", name.len()),
        );
    }
}
