use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Role, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-root-type",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The schema of a resource is of another type than `object`.",
    why: "The API server refuses the CRD.",
    help: "set type: object at the root of the schema",
    source: "apiextensions-apiserver, pkg/apiserver/schema/validation.go (validateStructuralInvariants)",
    check: Check::Schema(Keywords::of(&[Keyword::Type]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let kind = node.schema.kind();
    // What is no type at all is another rule's.
    if node.role == Role::Root && matches!(kind, "array" | "boolean" | "integer" | "number" | "string") {
        reporter.keyword(
            node,
            Keyword::Type,
            format!("a resource is an object, but the root is of type {kind}"),
        );
    }
}
