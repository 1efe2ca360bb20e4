use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::unknown_field;
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-unknown-field",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has a field that OLM does not declare.",
    impacts: &[Impact::FieldDropped],
    help: "remove the field, or correct its name or indentation",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    for unknown in &csv.unknown {
        if reporter.is_full() {
            return;
        }
        reporter.at(csv.object.file, &unknown.path, unknown.position, unknown_field(unknown));
    }
}
