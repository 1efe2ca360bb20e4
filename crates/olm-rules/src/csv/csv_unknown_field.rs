use std::collections::BTreeSet;

use super::related_image_invalid;
use crate::prelude::*;
use crate::reporter::{rename, unknown_field};

pub(crate) static RULE: Rule = Rule {
    id: "csv-unknown-field",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has a field that OLM does not declare, or declares with different capitalization.",
    impacts: &[
        Impact::FieldDropped,
        Impact::Specific(
            "A name with different capitalization, such as `DISPLAYNAME`, takes effect if OLM installs the CSV from a catalog, because names are decoded case-insensitively there; it is dropped if the CSV is created directly.",
        ),
    ],
    help: "remove the field, or correct its name or indentation",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    // The rule for these images reports the fields that stand in for them.
    let others = related_image_invalid::other_names(csv);
    let images: BTreeSet<&str> = others.values().map(|other| other.path.as_str()).collect();
    for unknown in &csv.unknown {
        if images.contains(unknown.path.as_str()) {
            continue;
        }
        if reporter.skip_if_full() {
            continue;
        }
        reporter.fix(rename(unknown));
        reporter.at(csv.object.file, &unknown.path, unknown.position, unknown_field(unknown));
    }
}
