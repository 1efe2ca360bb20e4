use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "ignore-unused",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A comment ignores a rule that has no finding there. Comments for rules of suites that are not enabled are not reported.",
    impacts: &[Impact::Specific(
        "The finding that the comment ignored has been fixed, or the comment is in the wrong place.",
    )],
    help: "remove the comment, or move it to the end of the finding's line or to the line before it",
    sources: &[Source::file(Project::BundleTool, "docs/how-to/ignore-findings.md")],
    check: Check::Comments,
};
