//! Texts of the CSV with a minimum length.

use super::sources::REQUIRED_FIELDS;
use crate::prelude::*;

pub(crate) static RULES: [Rule; 3] = [
    rule(
        "community-description-short",
        "`spec.description` has fewer than 20 characters.",
        "describe the operator in spec.description",
        |csv, reporter| long_enough(csv, "spec.description", &csv.typed.spec.description, 20, reporter),
    ),
    rule(
        "community-display-name-short",
        "`spec.displayName` has fewer than three characters.",
        "set spec.displayName to the name of the operator",
        |csv, reporter| long_enough(csv, "spec.displayName", &csv.typed.spec.display_name, 3, reporter),
    ),
    rule(
        "community-provider-short",
        "`spec.provider.name` has fewer than three characters.",
        "set spec.provider.name to the name of the publisher",
        |csv, reporter| long_enough(csv, "spec.provider.name", &csv.typed.spec.provider.name, 3, reporter),
    ),
];

const fn rule(
    id: &'static str,
    what: &'static str,
    help: &'static str,
    check: fn(&Csv<'_>, &mut Reporter<'_>),
) -> Rule {
    Rule {
        id,
        suite: Suite::Community,
        severity: Severity::Error,
        what,
        impacts: &[
            Impact::PipelineRejects,
            Impact::Specific("The catalog shows this field on the operator's page."),
        ],
        help,
        sources: REQUIRED_FIELDS,
        check: Check::Csv(check),
    }
}

fn long_enough(csv: &Csv<'_>, field: &str, text: &str, min: usize, reporter: &mut Reporter<'_>) {
    let length = text.chars().count();
    if length < min {
        let message = format!("{field} is too short: {length} characters, expected at least {min}");
        reporter.field(&csv.object, &Path::ROOT.field(field), message);
    }
}
