use super::entries;
use super::sources::REQUIRED_FIELDS;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-link-incomplete",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The CSV has no link, or one without name or URL.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The catalog shows the links on the operator's page."),
    ],
    help: "list each link with name and url",
    sources: REQUIRED_FIELDS,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    entries::check(csv, "links", ["name", "url"], reporter);
}
