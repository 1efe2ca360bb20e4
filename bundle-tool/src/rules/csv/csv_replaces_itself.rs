use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-replaces-itself",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV replaces itself.",
    why: "OLM waits for the CSV that is replaced, which is this one: it stays Pending for ever.",
    help: "name the CSV before this one, or leave the field out",
    source: "operator-lifecycle-manager, pkg/controller/operators/olm/operator.go (transitionCSVState)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let spec = &csv.typed.spec;
    let root = Path::ROOT;
    if !spec.replaces.is_empty() && spec.replaces == csv.object.name() {
        reporter.field(&csv.object, &root.field("spec.replaces"), "the CSV replaces itself");
    }
}
