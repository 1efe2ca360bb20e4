use crate::prelude::*;
use olm_model::crd::{Items, Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-set-items",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The items of a list of type `set` are lists or objects that are not atomic.",
    impacts: &[Impact::CrdRejected],
    help: "set `x-kubernetes-map-type: atomic` or `x-kubernetes-list-type: atomic` for the items",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.17")],
    check: Check::Schema(Keywords::new(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Items::Schema(items) = node.schema.items() else { return };
    let set = node.schema.string(Keyword::XListType) == "set" && node.schema.kind() == "array";
    if node.place != StructuralPosition::Skeleton || !set {
        return;
    }
    let items = Schema::read(items);
    let keyword = match items.kind() {
        "object" if items.string(Keyword::XMapType) != "atomic" => Keyword::XMapType,
        "array" if items.has(Keyword::XListType) && items.string(Keyword::XListType) != "atomic" => {
            Keyword::XListType
        }
        _ => return,
    };
    let here = node.path.field("items");
    let message =
        format!("items of a list of type `set` must be atomic: set `{}` to `atomic`", keyword.name());
    reporter.field(&node.crd.object, &here.field(keyword.name()), message);
}
