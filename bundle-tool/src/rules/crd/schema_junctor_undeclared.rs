use std::collections::HashMap;

use crate::model::crd::{Items, Keyword, Keywords, Schema};
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Role, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-junctor-undeclared",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`allOf`, `anyOf`, `oneOf` or `not` at the root speaks of a property or of items that the schema does not have.",
    why: "The API server refuses the CRD.",
    help: "declare the property outside as well",
    source: "apiextensions-apiserver, pkg/apiserver/schema/complete.go",
    check: Check::Schema(
        Keywords::of(&[Keyword::AllOf, Keyword::AnyOf, Keyword::OneOf, Keyword::Not]),
        check,
    ),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.role == Role::Root {
        junctors(node, node.schema, node.schema, &node.path, reporter);
    }
}

/// Holds the junctors of `restriction` against `schema`, which it restricts.
fn junctors(
    node: &SchemaNode<'_, '_>,
    restriction: &Schema<'_>,
    schema: &Schema<'_>,
    path: &Path<'_>,
    reporter: &mut Reporter<'_>,
) {
    if let Some(not) = restriction.get(Keyword::Not) {
        nested(node, &Schema::read(not), schema, &path.field("not"), reporter);
    }
    for keyword in [Keyword::AllOf, Keyword::AnyOf, Keyword::OneOf] {
        let list = path.field(keyword.name());
        for (index, value) in restriction.list(keyword).enumerate() {
            nested(node, &Schema::read(value), schema, &list.index(index), reporter);
        }
    }
}

fn nested(
    node: &SchemaNode<'_, '_>,
    restriction: &Schema<'_>,
    schema: &Schema<'_>,
    path: &Path<'_>,
    reporter: &mut Reporter<'_>,
) {
    junctors(node, restriction, schema, path, reporter);
    if let Items::Schema(items) = restriction.items() {
        let here = path.field("items");
        match schema.items() {
            Items::Schema(declared) => {
                nested(node, &Schema::read(items), &Schema::read(declared), &here, reporter);
            }
            _ => reporter.field(&node.crd.object, &here, "the schema has no items here"),
        }
    }
    if !restriction.fills(Keyword::Properties) {
        return;
    }
    let declared: HashMap<_, _> = schema.properties().map(|(name, value)| (name.text(), value)).collect();
    let properties = path.field("properties");
    for (key, value) in restriction.properties() {
        let here = properties.key(key.text());
        match declared.get(key.text()) {
            Some(declared) => nested(node, &Schema::read(value), &Schema::read(*declared), &here, reporter),
            // Another rule says that metadata is not allowed here.
            None if key.text() == "metadata" => {}
            None => {
                let message = format!("the schema has no property '{}' here", key.text());
                reporter.field(&node.crd.object, &here, message);
            }
        }
    }
}
