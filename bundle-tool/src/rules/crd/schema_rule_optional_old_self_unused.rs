use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-optional-old-self-unused",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A validation rule sets `optionalOldSelf`, but does not use `oldSelf`.",
    impacts: &[Impact::CrdRejected],
    help: "remove optionalOldSelf, or use `oldSelf` in the rule",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/validation.go"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/cel_validation.go"),
    ],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::OptionalOldSelf);
}
