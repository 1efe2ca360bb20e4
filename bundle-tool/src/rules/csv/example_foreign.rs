use super::examples;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "example-foreign",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An example is of an API that the operator does not own.",
    why: "operator-sdk refuses the bundle.",
    help: "mend the example's apiVersion and kind, or take it out",
    source: "operator-framework/api, pkg/validation/internal/csv.go (matchGVKProvidedAPIs)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Some(Ok(found)) = examples::read(csv) else { return };
    let provided = examples::provided(csv);
    let root = Path::ROOT;
    let path = root.field("metadata.annotations");
    for example in found.difference(&provided) {
        let message = format!("the example is of {example}, which the operator does not own");
        reporter.field(&csv.object, &path.key(examples::key(csv)), message);
    }
}
