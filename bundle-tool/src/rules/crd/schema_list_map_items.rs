use crate::model::crd::{Items, Keyword, Keywords, Schema};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-list-map-items",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The items of a list of the type `map` are no objects.",
    why: "The API server refuses the CRD.",
    help: "set type: object for the items",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionOpenAPISchema)",
    check: Check::Schema(Keywords::of(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Items::Schema(items) = node.schema.items() else { return };
    if node.place != Place::Skeleton || node.schema.text(Keyword::XListType) != "map" {
        return;
    }
    let items = Schema::read(items);
    let typeless =
        [Keyword::XIntOrString, Keyword::XPreserveUnknownFields].iter().any(|keyword| items.flag(*keyword));
    // A missing type is another rule's.
    if items.kind() != "object" && (!items.kind().is_empty() || typeless) {
        let here = node.path.field("items");
        let message = "items of a list of the type map must be of type object";
        reporter.field(&node.crd.object, &here.field("type"), message);
    }
}
