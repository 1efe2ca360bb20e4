use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-message-expression-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `messageExpression` of a validation rule is not a CEL expression of type string.",
    impacts: &[Impact::CrdRejected],
    help: "correct the expression: `self` is the value that the schema of the rule describes",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/validation.go"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/cel_validation.go"),
    ],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::MessageExpression);
}
