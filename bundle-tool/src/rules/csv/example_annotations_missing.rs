use super::examples;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "example-annotations-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has neither the annotation `alm-examples` nor `olm.examples`.",
    why: "Consoles offer no example to people who create a custom resource.",
    help: "add alm-examples: a JSON list with one object for each API that the operator owns",
    source: "operator-framework/api, pkg/validation/internal/csv.go (validateExamplesAnnotations)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if examples::text(csv).is_none() {
        let message = "the CSV has no examples";
        reporter.field(&csv.object, &Path::ROOT.field("metadata.annotations"), message);
    }
}
