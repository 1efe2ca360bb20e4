use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rules-too-expensive",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "All rules of a schema together may cost more than the API server allows.",
    why: "The API server refuses the CRD.",
    help: "limit lists, maps and strings with maxItems, maxProperties and maxLength, or simplify the rules",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go and cel_validation.go",
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::Schema);
}
