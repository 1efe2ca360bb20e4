use crate::prelude::*;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "conversion-crd-not-owned",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A conversion webhook lists no CRDs, or one that the CSV does not own.",
    impacts: &[Impact::InstallFails],
    help: "list the names of owned CRDs in conversionCRDs",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/webhook.go",
        &["createOrUpdateConversionWebhook"],
    )
    .since("0.17")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let owned = csv.typed.spec.customresourcedefinitions.owned.iter();
    let owned: BTreeSet<_> = owned.map(|crd| &crd.name).collect();
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        let entry = list.index(index);
        let crds = entry.field("conversionCRDs");
        if webhook.r#type != "ConversionWebhook" {
            continue;
        }
        if webhook.conversion_crds.is_empty() {
            reporter.field(&csv.object, &crds, "missing CRDs: a conversion webhook requires at least one");
        }
        for (index, name) in webhook.conversion_crds.iter().enumerate() {
            if !owned.contains(name) {
                reporter.field(
                    &csv.object,
                    &crds.index(index),
                    format!("CRD `{name}` is not owned by the CSV"),
                );
            }
        }
    }
}
