use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "permission-rules-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A permission of the install strategy has no list of rules.",
    impacts: &[Impact::CsvRejected],
    help: "add `rules`, or remove the entry",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "crds/operators.coreos.com_clusterserviceversions.yaml",
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    for field in ["spec.install.spec.permissions", "spec.install.spec.clusterPermissions"] {
        let keys: Vec<_> = field.split('.').collect();
        let list = root.field(field);
        let items = csv.dig(&keys).into_iter().flat_map(Value::items);
        for (index, permission) in items.enumerate() {
            if permission.get("rules").is_none_or(Value::is_null) {
                let entry = list.index(index);
                reporter.field(&csv.object, &entry.field("rules"), "missing required field `rules`");
            }
        }
    }
}
