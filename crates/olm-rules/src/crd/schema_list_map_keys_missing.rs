use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-map-keys-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A list of type `map` has no `x-kubernetes-list-map-keys`.",
    impacts: &[Impact::CrdRejected],
    help: "set x-kubernetes-list-map-keys to the properties that identify an item, such as `[name]`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let map = node.place == StructuralPosition::Skeleton && node.schema.string(Keyword::XListType) == "map";
    if map && !node.schema.fills(Keyword::XListMapKeys) {
        reporter.keyword(
            node,
            Keyword::XListMapKeys,
            "missing `x-kubernetes-list-map-keys` for a list of type `map`",
        );
    }
}
