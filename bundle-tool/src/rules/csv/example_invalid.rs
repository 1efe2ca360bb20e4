use super::examples;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "example-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV's examples are no JSON list of objects.",
    why: "operator-sdk refuses the bundle, and consoles show no example.",
    help: "write a JSON list of objects with apiVersion and kind",
    source: "operator-framework/api, pkg/validation/internal/csv.go (validateExamplesAnnotations)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if let Some(Err(error)) = examples::read(csv) {
        let root = Path::ROOT;
        let path = root.field("metadata.annotations");
        reporter.field(&csv.object, &path.key(examples::key(csv)), error);
    }
}
