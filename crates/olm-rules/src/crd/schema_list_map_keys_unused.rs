use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-map-keys-unused",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema has `x-kubernetes-list-map-keys`, but is not a list of type `map`.",
    impacts: &[Impact::CrdRejected],
    help: "set `x-kubernetes-list-type: map`, or remove x-kubernetes-list-map-keys",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::XListMapKeys]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let list_type = node.schema.string(Keyword::XListType);
    if node.place != StructuralPosition::Skeleton
        || !node.schema.fills(Keyword::XListMapKeys)
        || list_type == "map"
    {
        return;
    }
    // Another rule reports an invalid list type.
    if !node.schema.has(Keyword::XListType) || matches!(list_type, "atomic" | "set") {
        let message = "`x-kubernetes-list-map-keys` requires `x-kubernetes-list-type: map`";
        reporter.keyword(node, Keyword::XListType, message);
    }
}
