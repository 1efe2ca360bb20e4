use crate::prelude::*;
use std::collections::HashSet;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-conversion-crd-duplicate",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "Two conversion webhooks convert the same CRD, or one lists it twice.",
    impacts: &[Impact::OlmV1Rejects],
    help: "list each CRD in conversionCRDs of one conversion webhook",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/validators/validator.go",
        &["CheckConversionWebhookCRDReferenceUniqueness"],
    )
    .since("1.6")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let mut seen = HashSet::new();
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        if webhook.r#type != "ConversionWebhook" {
            continue;
        }
        let entry = list.index(index);
        let crds = entry.field("conversionCRDs");
        for (index, crd) in webhook.conversion_crds.iter().enumerate() {
            if !seen.insert(crd) {
                let message = format!("duplicate CRD `{crd}` in conversion webhooks");
                reporter.field(&csv.object, &crds.index(index), message);
            }
        }
    }
}
