use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-message-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The message of a rule is empty, has line breaks, or is missing for a rule of several lines.",
    why: "The API server refuses the CRD.",
    help: "write a message of one line",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go and cel_validation.go",
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::Message);
}
