use crate::rules::prelude::*;
use crate::rules::reporter::{rename, unknown_field};

pub(super) static RULE: Rule = Rule {
    id: "csv-unknown-field",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has a field that OLM does not declare, or declares in another case.",
    impacts: &[
        Impact::FieldDropped,
        Impact::Specific(
            "A name in another case, such as `DISPLAYNAME`, counts where OLM installs the CSV from a catalog, because it decodes names there regardless of their case; it is dropped where the CSV is created directly.",
        ),
    ],
    help: "remove the field, or correct its name or indentation",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    for unknown in &csv.unknown {
        if reporter.skip_if_full() {
            continue;
        }
        reporter.fix(rename(unknown));
        reporter.at(csv.object.file, &unknown.path, unknown.position, unknown_field(unknown));
    }
}
