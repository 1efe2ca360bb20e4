use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::webhook::Webhook;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The generateName of a webhook is missing, has less than three parts, or is longer than 63 characters.",
    why: "The API server refuses the webhook, and the CSV fails with InstallComponentFailed.",
    help: "name the webhook like vgizmo.gadgets.example.com",
    source: "k8s.io/kubernetes, pkg/apis/admissionregistration/validation/validation.go (validateValidatingWebhook); operator-lifecycle-manager, pkg/controller/install/webhook.go (addWebhookLabels)",
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut Errors<'_, '_>) {
    if !webhook.is_admission() {
        return;
    }
    let path = webhook.path.field("generateName");
    let name = &webhook.typed.generate_name;
    if errors.required(&path, name) && errors.check(&path, names::fully_qualified(name)) && name.len() > 63 {
        errors.add(
            &path,
            format!(
                "the name has {} characters: OLM makes it a label's value, which has at most 63",
                name.len()
            ),
        );
    }
}
