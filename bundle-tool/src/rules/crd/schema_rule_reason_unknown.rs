use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-reason-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The reason of a rule is none that the API server can answer with.",
    why: "The API server refuses the CRD.",
    help: "use one of FieldValueDuplicate, FieldValueForbidden, FieldValueInvalid and FieldValueRequired",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go and cel_validation.go",
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::Reason);
}
