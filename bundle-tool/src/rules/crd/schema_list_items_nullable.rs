use crate::model::crd::{Items, Keyword, Keywords, Schema};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-list-items-nullable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The items of a list of the type `map` or `set` may be null.",
    why: "The API server refuses the CRD.",
    help: "remove nullable from the items",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateMapListKeysMapSet)",
    check: Check::Schema(Keywords::of(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Items::Schema(items) = node.schema.items() else { return };
    let list_type = node.schema.text(Keyword::XListType);
    let keyed = node.place == Place::Skeleton && matches!(list_type, "map" | "set");
    if keyed && Schema::read(items).flag(Keyword::Nullable) {
        let here = node.path.field("items");
        let message = format!("items of a list of the type {list_type} cannot be null");
        reporter.field(&node.crd.object, &here.field("nullable"), message);
    }
}
