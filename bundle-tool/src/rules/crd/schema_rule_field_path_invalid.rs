use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-field-path-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The fieldPath of a rule leads to nothing in the schema.",
    why: "The API server refuses the CRD.",
    help: "write a path from the schema that the rule stands at, like .spec.size or .labels['a.b']",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go and cel_validation.go",
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::FieldPath);
}
