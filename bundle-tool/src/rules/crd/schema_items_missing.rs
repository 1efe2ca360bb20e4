use crate::model::crd::{Items, Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-items-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A list's schema does not say what its items are.",
    why: "The API server refuses the CRD.",
    help: "describe the items in `items`",
    source: "apiextensions-apiserver, pkg/apiserver/schema/validation.go (validateStructuralInvariants)",
    check: Check::Schema(Keywords::of(&[Keyword::Type]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let list = node.place == Place::Skeleton && node.schema.kind() == "array";
    let missing = match node.schema.items() {
        Items::Schema(_) => false,
        Items::Unset => true,
        // A list of schemas is another rule's.
        Items::Other => !node.schema.fills(Keyword::Items),
    };
    if list && missing {
        reporter.keyword(node, Keyword::Items, "the list has no `items`");
    }
}
