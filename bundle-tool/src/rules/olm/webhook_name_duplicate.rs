use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-name-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two webhooks of the CSV have the same `generateName`.",
    why: "OLM refuses the CSV: InvalidWebhookDescription.",
    help: "give each webhook a name of its own",
    source: "operator-lifecycle-manager, pkg/controller/operators/olm/operator.go (transitionCSVState)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let webhooks = &csv.typed.spec.webhookdefinitions;
    for (index, webhook) in webhooks.iter().enumerate() {
        if webhooks[..index].iter().any(|other| other.generate_name == webhook.generate_name) {
            let entry = list.index(index);
            let message = format!("a webhook '{}' is in this list already", webhook.generate_name);
            reporter.field(&csv.object, &entry.field("generateName"), message);
        }
    }
}
