use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-optional-old-self-unused",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A rule sets optionalOldSelf, but does not use oldSelf.",
    why: "The API server refuses the CRD.",
    help: "remove optionalOldSelf, or use oldSelf in the rule",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go and cel_validation.go",
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::OptionalOldSelf);
}
