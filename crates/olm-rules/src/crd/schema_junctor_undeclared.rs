use crate::prelude::*;
use olm_model::crd::{Items, Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-junctor-undeclared",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema below `allOf`, `anyOf`, `oneOf` or `not` restricts a property or items that the structural schema does not declare.",
    impacts: &[Impact::CrdRejected],
    help: "declare the property or items in the structural schema as well",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/schema/complete.go").since("1.16")
    ],
    check: Check::Schema(
        Keywords::new(&[Keyword::AllOf, Keyword::AnyOf, Keyword::OneOf, Keyword::Not]),
        check,
    ),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.role == SchemaRole::Root {
        junctors(node, node.schema, node.schema, &node.path, reporter);
    }
}

/// Compares `allOf`, `anyOf`, `oneOf` and `not` of `restriction` with `schema`, which they restrict.
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
            _ => reporter.field(
                &node.crd.object,
                &here,
                "`items` are restricted, but not declared by the schema",
            ),
        }
    }
    if !restriction.fills(Keyword::Properties) {
        return;
    }
    let properties = path.field("properties");
    for (key, value) in restriction.properties() {
        let here = properties.key(key.text());
        match schema.property(key.text()) {
            Some(declared) => nested(node, &Schema::read(value), &Schema::read(declared), &here, reporter),
            // Another rule rejects metadata here.
            None if key.text() == "metadata" => {}
            None => {
                let message =
                    format!("property `{}` is restricted, but not declared by the schema", key.text());
                reporter.field(&node.crd.object, &here, message);
            }
        }
    }
}
