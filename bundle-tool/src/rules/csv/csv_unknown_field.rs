use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-unknown-field",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has a field that OLM does not know.",
    why: "OLM drops it without a word: what it was meant to say is not said.",
    help: "mend the field's name or place, or delete it",
    source: "operator-framework/api, pkg/operators/v1alpha1/clusterserviceversion_types.go",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    for unknown in &csv.unknown {
        reporter.at(
            csv.object.file,
            &unknown.path,
            unknown.position,
            "OLM does not know this field and drops it",
        );
    }
}
