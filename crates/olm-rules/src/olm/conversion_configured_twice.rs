use super::conversion_webhook_missing::converted;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "conversion-configured-twice",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The manifest of a CRD configures a conversion webhook although a conversion webhook of the CSV is for the CRD.",
    impacts: &[Impact::Specific(
        "OLM first applies the CRD as it is: until it has replaced spec.conversion, the API server calls a Service that does not exist, and an upgrade that lists existing objects fails.",
    )],
    help: "remove spec.conversion from the CRD: OLM sets it",
    sources: &[
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/install/webhook.go",
            &["createOrUpdateConversionWebhook"],
        )
        .since("0.17"),
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/operators/catalog/operator.go",
            &["validateExistingCRs"],
        )
        .since("0.14"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for csv in &context.csvs {
        let converted = converted(csv);
        for crd in context.crds.iter().filter(|crd| converted.contains(crd.object.name())) {
            let has_client = crd
                .spec
                .dig(&["conversion", "webhook", "clientConfig"])
                .is_some_and(|client| !client.is_null());
            if crd.string(&["conversion", "strategy"]) == "Webhook" && has_client {
                let message = "unexpected spec.conversion: a conversion webhook of the CSV is for this CRD";
                reporter.field(&crd.object, &Path::ROOT.field("spec.conversion"), message);
            }
        }
    }
}
