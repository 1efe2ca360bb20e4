use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ignore-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A comment `# bundle-tool: …` cannot be read: it names no known rule or no reason.",
    impacts: &[Impact::Specific("The comment ignores nothing.")],
    help: "write `# bundle-tool: ignore[RULE] REASON` at the end of a line or on the line before it",
    sources: &[Source::file(Project::BundleTool, "docs/validate.md")],
    check: Check::Comments,
};
