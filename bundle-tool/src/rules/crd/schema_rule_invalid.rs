use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A rule of x-kubernetes-validations is no CEL expression that gives a boolean, or uses what the schema does not have.",
    why: "The API server refuses the CRD.",
    help: "mend the expression; `self` is the value that the rule stands at",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go and cel_validation.go",
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::Rule);
}
