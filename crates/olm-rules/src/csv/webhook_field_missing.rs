use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-field-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A webhook has no `sideEffects` or no `admissionReviewVersions`.",
    impacts: &[Impact::CsvRejected],
    help: "set sideEffects to `None` and admissionReviewVersions to `[v1]`",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "crds/operators.coreos.com_clusterserviceversions.yaml",
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let items = csv.dig(&["spec", "webhookdefinitions"]).into_iter().flat_map(Value::items);
    for (index, webhook) in items.enumerate() {
        for field in ["sideEffects", "admissionReviewVersions"] {
            if webhook.get(field).is_none_or(Value::is_null) {
                let entry = list.index(index);
                reporter.field(&csv.object, &entry.field(field), format!("missing required field `{field}`"));
            }
        }
    }
}
