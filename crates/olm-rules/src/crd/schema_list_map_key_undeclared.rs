use std::collections::HashSet;

use crate::prelude::*;
use olm_model::crd::{Items, Keyword, Keywords, Schema};
use olm_model::report::suggest::did_you_mean;

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-map-key-undeclared",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`x-kubernetes-list-map-keys` names a property that the items do not declare.",
    impacts: &[Impact::CrdRejected],
    help: "declare the key as a property of the items, or correct its name",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::XListMapKeys]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Some(items) = items(node) else { return };
    if items.kind() != "object" {
        return;
    }
    let declared: HashSet<_> = items.properties().map(|(name, _)| name.text()).collect();
    let keys = node.path.field(Keyword::XListMapKeys.name());
    for (index, key) in node.schema.list(Keyword::XListMapKeys).enumerate() {
        if !declared.contains(key.text()) {
            if reporter.skip_if_full() {
                continue;
            }
            let near = did_you_mean(key.text(), items.properties().map(|(name, _)| name.text()));
            let message = format!("the items do not declare the property `{}`{near}", key.text());
            reporter.field(&node.crd.object, &keys.index(index), message);
        }
    }
}

/// Returns the items of a list of type `map`.
fn items<'b>(node: &SchemaNode<'_, 'b>) -> Option<Schema<'b>> {
    match node.schema.items() {
        Items::Schema(items)
            if node.place == StructuralPosition::Skeleton
                && node.schema.string(Keyword::XListType) == "map" =>
        {
            Some(Schema::read(items))
        }
        _ => None,
    }
}
