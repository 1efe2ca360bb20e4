use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-conversion-webhook-unused",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A conversion names a webhook, but its strategy is not `Webhook`.",
    why: "The API server refuses the CRD.",
    help: "remove spec.conversion.webhook, or set the strategy to Webhook",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateCustomResourceConversion)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.text(&["conversion", "strategy"]) != "None" {
        return;
    }
    let Some(webhook) = crd.spec.dig(&["conversion", "webhook"]) else { return };
    let set = |field: &str, empty: bool| {
        webhook.get(field).is_some_and(|value| !value.is_null() && (empty || !value.is_empty()))
    };
    if set("clientConfig", true) || set("conversionReviewVersions", false) {
        let message = "a webhook is set, but the strategy is None";
        reporter.field(&crd.object, &Path::ROOT.field("spec.conversion.webhook"), message);
    }
}
