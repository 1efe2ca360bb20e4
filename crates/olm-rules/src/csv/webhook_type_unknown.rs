use crate::prelude::*;
use olm_model::report::suggest::{nearest, unknown};

pub(crate) static RULE: Rule = Rule {
    id: "webhook-type-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `type` of a webhook is not supported.",
    impacts: &[Impact::CsvRejected],
    help: "set type to `ValidatingAdmissionWebhook`, `MutatingAdmissionWebhook` or `ConversionWebhook`",
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
        let known = ["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook"];
        if !known.contains(&webhook.r#type.as_str()) {
            let entry = list.index(index);
            let message = unknown("webhook type", &webhook.r#type, &known);
            let path = entry.field("type");
            let set = |name: &str| Fix::new(Safety::Unsafe, &path, Change::SetString(name.to_owned()));
            reporter.fix(nearest(&webhook.r#type, known).map(set));
            reporter.field(&csv.object, &entry.field("type"), message);
        }
    }
}
