use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-conversion-webhook-unused",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD configures a conversion webhook, but its conversion strategy is not `Webhook`.",
    impacts: &[Impact::CrdRejected],
    help: "remove spec.conversion.webhook, or set spec.conversion.strategy to `Webhook`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateCustomResourceConversion"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.string(&["conversion", "strategy"]) != "None" {
        return;
    }
    let Some(webhook) = crd.spec.dig(&["conversion", "webhook"]) else { return };
    let set = |field: &str, empty: bool| {
        webhook.get(field).is_some_and(|value| !value.is_null() && (empty || !value.is_empty()))
    };
    if set("clientConfig", true) || set("conversionReviewVersions", false) {
        let message = "unexpected webhook: the strategy is `None`";
        reporter.field(&crd.object, &Path::ROOT.field("spec.conversion.webhook"), message);
    }
}
