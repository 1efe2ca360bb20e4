use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-message-expression-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The messageExpression of a rule is no CEL expression that gives a string.",
    why: "The API server refuses the CRD.",
    help: "mend the expression; `self` is the value that the rule stands at",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go and cel_validation.go",
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::MessageExpression);
}
