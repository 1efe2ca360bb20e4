use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-none",
    suite: Suite::GoodPractices,
    severity: Severity::Error,
    what: "The CSV has no list of Deployments whose resources could be looked at.",
    why: "operator-sdk's validator of good practices reports an error; without the list the API server refuses the CSV, too.",
    help: "add spec.install.spec.deployments",
    source: "operator-framework/api, pkg/validation/internal/good_practices.go (validateResourceRequests)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let keys = ["spec", "install", "spec", "deployments"];
    if csv.object.root.dig(&keys).is_none_or(Value::is_null) {
        let path = Path::ROOT.field("spec.install.spec.deployments");
        reporter.field(&csv.object, &path, "the install strategy has no Deployments");
    }
}
