use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "conversion-crd-not-owned",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A conversion webhook names no CRD, or one that the CSV does not own.",
    why: "OLM refuses to set the conversion up: the install strategy fails.",
    help: "list owned CRDs by their full names in conversionCRDs",
    source: "operator-lifecycle-manager, pkg/controller/install/webhook.go (createOrUpdateConversionWebhook)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let owned = &csv.typed.spec.customresourcedefinitions.owned;
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        let entry = list.index(index);
        let crds = entry.field("conversionCRDs");
        if webhook.r#type != "ConversionWebhook" {
            continue;
        }
        if webhook.conversion_crds.is_empty() {
            reporter.field(&csv.object, &crds, "the conversion webhook converts no CRD");
        }
        for (index, name) in webhook.conversion_crds.iter().enumerate() {
            if owned.iter().all(|crd| crd.name != *name) {
                reporter.field(&csv.object, &crds.index(index), format!("the CSV does not own '{name}'"));
            }
        }
    }
}
