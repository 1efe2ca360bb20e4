use std::collections::{HashMap, HashSet};

use crate::prelude::*;
use kube_yaml::Value;
use olm_model::crd::{Items, Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-map-key-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A key of a list of type `map` is a list or an object, is nullable, or is neither required nor has a default.",
    impacts: &[Impact::CrdRejected],
    help: "make the key a required scalar property of the items, or give it a default",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema", "validateMapListKeysMapSet"],
    )
    .since("1.18")],
    check: Check::Schema(Keywords::new(&[Keyword::XListMapKeys]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Some(items) = items(node) else { return };
    let properties: HashMap<_, _> = items.properties().map(|(name, value)| (name.text(), value)).collect();
    let required: HashSet<_> = items.list(Keyword::Required).map(Value::text).collect();
    let below = node.path.field("items.properties");
    for key in node.schema.list(Keyword::XListMapKeys) {
        let name = key.text();
        let Some(property) = properties.get(name).copied().map(Schema::read) else { continue };
        let path = below.key(name);
        let mut report = |keyword: Keyword, message: String| {
            reporter.field(&node.crd.object, &path.field(keyword.name()), message);
        };
        if items.kind() == "object" && matches!(property.kind(), "array" | "object") {
            report(
                Keyword::Type,
                format!("invalid type of key `{name}`: must be a scalar, found {}", property.kind()),
            );
        }
        if !required.contains(name) && !property.has(Keyword::Default) {
            report(Keyword::Default, format!("key `{name}` must be required or have a default"));
        }
        if property.flag(Keyword::Nullable) {
            report(Keyword::Nullable, format!("key `{name}` must not be nullable"));
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
