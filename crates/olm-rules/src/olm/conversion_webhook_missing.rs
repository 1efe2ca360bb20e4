use std::collections::BTreeSet;

use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "conversion-webhook-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A CRD converts its versions with a webhook in the cluster, but no conversion webhook of the CSV is for the CRD.",
    impacts: &[Impact::Specific(
        "OLM creates the Service and the certificate only of webhooks in the CSV, so that every request for a version that is not the stored one fails.",
    )],
    help: "add a webhook of type `ConversionWebhook` to spec.webhookdefinitions with the CRD in conversionCRDs, or set spec.conversion.strategy of the CRD to `None`",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/webhook.go",
        &["createOrUpdateConversionWebhook"],
    )
    .since("0.17")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for csv in &context.csvs {
        let converted = converted(csv);
        for crd in &context.crds {
            let is_in_cluster = crd
                .spec
                .dig(&["conversion", "webhook", "clientConfig", "service"])
                .is_some_and(|service| !service.is_null());
            if crd.string(&["conversion", "strategy"]) == "Webhook"
                && is_in_cluster
                && !converted.contains(crd.object.name())
            {
                let message = format!("no conversion webhook of the CSV is for `{}`", crd.object.name());
                reporter.field(&crd.object, &Path::ROOT.field("spec.conversion"), message);
            }
        }
    }
}

/// Returns the names of the CRDs that the conversion webhooks of the CSV are for.
pub(crate) fn converted<'c>(csv: &'c Csv<'_>) -> BTreeSet<&'c str> {
    let webhooks = csv.typed.spec.webhookdefinitions.iter();
    let webhooks = webhooks.filter(|webhook| webhook.r#type == "ConversionWebhook");
    webhooks.flat_map(|webhook| &webhook.conversion_crds).map(String::as_str).collect()
}
