use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-reason-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `reason` of a validation rule is not supported.",
    impacts: &[Impact::CrdRejected],
    help: "set reason to `FieldValueDuplicate`, `FieldValueForbidden`, `FieldValueInvalid` or `FieldValueRequired`",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/validation.go"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/cel_validation.go"),
    ],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::Reason);
}
