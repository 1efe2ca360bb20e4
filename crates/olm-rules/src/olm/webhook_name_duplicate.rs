use crate::prelude::*;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-name-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two webhooks of the CSV have the same `generateName`.",
    impacts: &[Impact::CsvFails("InvalidWebhookDescription")],
    help: "give each webhook a unique generateName",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/operators/olm/operator.go",
        &["transitionCSVState"],
    )
    .since("0.15")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let webhooks = &csv.typed.spec.webhookdefinitions;
    let mut seen = BTreeMap::new();
    for (index, webhook) in webhooks.iter().enumerate() {
        let first = *seen.entry(&webhook.generate_name).or_insert(index);
        if first < index {
            let entry = list.index(index);
            let message = format!("duplicate webhook name `{}`", webhook.generate_name);
            reporter.field(&csv.object, &entry.field("generateName"), message);
            let first = list.index(first);
            reporter.related(&csv.object, &first.field("generateName"), "first used here");
        }
    }
}
