use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-list-map-keys-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A list of the type `map` names no keys.",
    why: "The API server refuses the CRD.",
    help: "name in x-kubernetes-list-map-keys what tells items apart",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionOpenAPISchema)",
    check: Check::Schema(Keywords::of(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let map = node.place == Place::Skeleton && node.schema.text(Keyword::XListType) == "map";
    if map && !node.schema.fills(Keyword::XListMapKeys) {
        reporter.keyword(node, Keyword::XListMapKeys, "a list of the type map needs keys");
    }
}
