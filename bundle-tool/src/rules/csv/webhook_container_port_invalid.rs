use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-container-port-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A webhook's `containerPort` is no port.",
    why: "The API server refuses the CSV.",
    help: "write a number from 1 to 65535, or leave the field out for 443",
    source: "the schema of clusterserviceversions.operators.coreos.com",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        // Zero is as good as none.
        if !(0..=65535).contains(&webhook.container_port) {
            let entry = list.index(index);
            let message = format!("{} is no port", webhook.container_port);
            reporter.field(&csv.object, &entry.field("containerPort"), message);
        }
    }
}
