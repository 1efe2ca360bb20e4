use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-list-map-keys-unused",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A list names keys, but is not of the type `map`.",
    why: "The API server refuses the CRD.",
    help: "set x-kubernetes-list-type: map, or remove the keys",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionOpenAPISchema)",
    check: Check::Schema(Keywords::of(&[Keyword::XListMapKeys]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let list_type = node.schema.text(Keyword::XListType);
    if node.place != Place::Skeleton || !node.schema.fills(Keyword::XListMapKeys) || list_type == "map" {
        return;
    }
    // A list type that is none is another rule's.
    if !node.schema.has(Keyword::XListType) || matches!(list_type, "atomic" | "set") {
        let message = "x-kubernetes-list-map-keys needs x-kubernetes-list-type: map";
        reporter.keyword(node, Keyword::XListType, message);
    }
}
