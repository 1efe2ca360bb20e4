use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Role, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-root-nullable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The schema of a resource allows null.",
    why: "The API server refuses the CRD.",
    help: "remove nullable at the root of the schema",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateCustomResourceDefinitionValidation)",
    check: Check::Schema(Keywords::of(&[Keyword::Nullable]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.role == Role::Root && node.schema.flag(Keyword::Nullable) {
        reporter.keyword(node, Keyword::Nullable, "a resource cannot be null");
    }
}
