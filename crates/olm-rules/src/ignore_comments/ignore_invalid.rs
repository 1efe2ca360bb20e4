use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "ignore-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A comment `# bundle-tool: …` is invalid: it does not name a known rule, or has no reason.",
    impacts: &[Impact::Specific("The comment ignores nothing.")],
    help: "write `# bundle-tool: ignore[RULE] REASON` at the end of a line or on the line before it",
    sources: &[Source::file(Project::BundleTool, "docs/how-to/ignore-findings.md")],
    check: Check::Comments,
};
