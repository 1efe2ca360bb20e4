use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-container-port-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `containerPort` of a webhook is not a valid port.",
    impacts: &[Impact::CsvRejected],
    help: "set containerPort to a number from 1 to 65535, or remove it to use 443",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "crds/operators.coreos.com_clusterserviceversions.yaml",
    )
    .since("0.4")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        // Zero is the same as unset.
        if !(0..=65535).contains(&webhook.container_port) {
            let entry = list.index(index);
            let message = format!("invalid port {}: must be between 1 and 65535", webhook.container_port);
            reporter.field(&csv.object, &entry.field("containerPort"), message);
        }
    }
}
