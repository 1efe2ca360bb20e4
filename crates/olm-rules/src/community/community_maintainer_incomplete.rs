use super::entries;
use super::sources::REQUIRED_FIELDS;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-maintainer-incomplete",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The CSV has no maintainer, or one without name or email.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("Users of the operator need to know whom to contact."),
    ],
    help: "list each maintainer with name and email",
    sources: REQUIRED_FIELDS,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    entries::check(csv, "maintainers", ["name", "email"], reporter);
}
