use std::collections::HashSet;

use crate::prelude::*;
use kube_yaml::Value;
use olm_model::crd::{Items, Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-map-key-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`x-kubernetes-list-map-keys` contains a key twice.",
    impacts: &[Impact::CrdRejected],
    help: "remove the duplicate from x-kubernetes-list-map-keys",
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
    let path = node.path.field(Keyword::XListMapKeys.name());
    let mut seen = HashSet::new();
    for (index, key) in node.schema.list(Keyword::XListMapKeys).map(Value::text).enumerate() {
        if !seen.insert(key) {
            reporter.field(&node.crd.object, &path.index(index), format!("duplicate key `{key}`"));
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
