use crate::prelude::*;
use olm_model::crd::{Items, Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-map-items",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The items of a list of type `map` are not of type `object`.",
    impacts: &[Impact::CrdRejected],
    help: "set `type: object` in the schema of the items",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Items::Schema(items) = node.schema.items() else { return };
    if node.place != StructuralPosition::Skeleton || node.schema.string(Keyword::XListType) != "map" {
        return;
    }
    let items = Schema::read(items);
    let typeless =
        [Keyword::XIntOrString, Keyword::XPreserveUnknownFields].iter().any(|keyword| items.flag(*keyword));
    // Another rule reports a missing type.
    if items.kind() != "object" && (!items.kind().is_empty() || typeless) {
        let here = node.path.field("items");
        let message = "items of a list of type `map` must be of type `object`";
        reporter.field(&node.crd.object, &here.field("type"), message);
    }
}
