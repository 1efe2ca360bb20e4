use crate::prelude::*;
use olm_model::crd::{Items, Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-items-nullable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A list with `x-kubernetes-list-type: map` or `set` has nullable items.",
    impacts: &[Impact::CrdRejected],
    help: "remove `nullable` from the schema of the items",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateMapListKeysMapSet"],
    )
    .since("1.18")],
    check: Check::Schema(Keywords::new(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Items::Schema(items) = node.schema.items() else { return };
    let list_type = node.schema.string(Keyword::XListType);
    let keyed = node.place == StructuralPosition::Skeleton && matches!(list_type, "map" | "set");
    if keyed && Schema::read(items).flag(Keyword::Nullable) {
        let here = node.path.field("items");
        let message = format!("items of a list of type `{list_type}` must not be nullable");
        reporter.field(&node.crd.object, &here.field("nullable"), message);
    }
}
