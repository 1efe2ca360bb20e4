use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Role, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-type-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema has no type.",
    why: "The API server refuses the CRD.",
    help: "give every field, item and value a type; x-kubernetes-int-or-string and x-kubernetes-preserve-unknown-fields can stand without one",
    source: "apiextensions-apiserver, pkg/apiserver/schema/validation.go (validateStructuralInvariants)",
    check: Check::Schema(Keywords::EVERY, check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let schema = node.schema;
    let typeless = [Keyword::XIntOrString, Keyword::XPreserveUnknownFields, Keyword::XEmbeddedResource];
    let needed = node.place == Place::Skeleton && schema.kind().is_empty();
    if !needed || typeless.iter().any(|keyword| schema.flag(*keyword)) {
        return;
    }
    let what = match node.role {
        Role::Root => "the schema",
        Role::Items => "the schema of the items",
        Role::Additional => "the schema of the values",
        _ => "the field",
    };
    reporter.keyword(node, Keyword::Type, format!("{what} has no type"));
}
