use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, SchemaNode};
use kubernetes_cel::go_regex::GoRegex;

pub(super) static RULE: Rule = Rule {
    id: "schema-pattern-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The pattern of a schema is no regular expression that Go can read.",
    why: "The API server refuses the CRD.",
    help: "write the pattern in RE2's syntax: no look-around, no back references, no possessive repetitions",
    source: "apiextensions-apiserver, pkg/apiserver/schema/validation.go (validateValueValidation)",
    check: Check::Schema(Keywords::of(&[Keyword::Pattern]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if let Err(error) = GoRegex::parse(node.schema.text(Keyword::Pattern)) {
        reporter.keyword(node, Keyword::Pattern, format!("the pattern is not valid: {error}"));
    }
}
