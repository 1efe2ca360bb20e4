use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-type-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A webhook's `type` is none of ValidatingAdmissionWebhook, MutatingAdmissionWebhook and ConversionWebhook.",
    why: "The API server refuses the CSV.",
    help: "write one of the three types",
    source: "the schema of clusterserviceversions.operators.coreos.com",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        let known = ["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook"];
        if !known.contains(&webhook.r#type.as_str()) {
            let entry = list.index(index);
            let message = format!("there is no webhook type '{}'", webhook.r#type);
            reporter.field(&csv.object, &entry.field("type"), message);
        }
    }
}
