use crate::prelude::*;
use olm_model::crd::{Items, Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-items-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema of type `array` has no schema for its items.",
    impacts: &[Impact::CrdRejected],
    help: "add `items` with the schema of the items",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateStructuralInvariants"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Type]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let list = node.place == StructuralPosition::Skeleton && node.schema.kind() == "array";
    let missing = match node.schema.items() {
        Items::Schema(_) => false,
        Items::Unset => true,
        // Another rule reports a list of schemas.
        Items::Other => !node.schema.fills(Keyword::Items),
    };
    if list && missing {
        reporter.keyword(node, Keyword::Items, "missing required keyword `items` for type `array`");
    }
}
