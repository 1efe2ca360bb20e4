use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "permission-rules-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A permission of the install strategy has no list of rules.",
    why: "The API server refuses the CSV: the field must be there, and null is no list.",
    help: "write the rules, or delete the entry",
    source: "the schema of clusterserviceversions.operators.coreos.com",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    for field in ["spec.install.spec.permissions", "spec.install.spec.clusterPermissions"] {
        let keys: Vec<_> = field.split('.').collect();
        let list = root.field(field);
        let items = csv.object.root.dig(&keys).into_iter().flat_map(Value::items);
        for (index, permission) in items.enumerate() {
            if permission.get("rules").is_none_or(Value::is_null) {
                let entry = list.index(index);
                reporter.field(&csv.object, &entry.field("rules"), "the permission has no list of rules");
            }
        }
    }
}
