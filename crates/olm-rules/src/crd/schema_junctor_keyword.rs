use crate::prelude::*;
use olm_model::crd::{Additional, Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-junctor-keyword",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema below `allOf`, `anyOf`, `oneOf` or `not` has a keyword that is only allowed outside of them.",
    impacts: &[Impact::CrdRejected],
    help: "move the keyword to the schema that contains `allOf`, `anyOf`, `oneOf` or `not`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateNestedValueValidation"],
    )
    .since("1.16")],
    check: Check::Schema(
        Keywords::new(&[
            Keyword::Type,
            Keyword::AdditionalProperties,
            Keyword::Default,
            Keyword::Title,
            Keyword::Description,
            Keyword::Nullable,
            Keyword::XPreserveUnknownFields,
            Keyword::XEmbeddedResource,
            Keyword::XIntOrString,
            Keyword::XListMapKeys,
            Keyword::XListType,
            Keyword::XMapType,
            Keyword::XValidations,
        ]),
        check,
    ),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place != StructuralPosition::Nested {
        return;
    }
    let schema = node.schema;
    let text = |keyword| !schema.string(keyword).is_empty();
    let additional = match schema.additional() {
        Additional::Unset | Additional::Boolean(false) => false,
        Additional::Boolean(true) | Additional::Schema(_) => true,
    };
    for (keyword, set) in [
        (Keyword::Type, text(Keyword::Type) && !is_int_or_string(node)),
        (Keyword::AdditionalProperties, additional),
        (Keyword::Default, schema.has(Keyword::Default)),
        (Keyword::Title, text(Keyword::Title)),
        (Keyword::Description, text(Keyword::Description)),
        (Keyword::Nullable, schema.flag(Keyword::Nullable)),
        (Keyword::XPreserveUnknownFields, schema.flag(Keyword::XPreserveUnknownFields)),
        (Keyword::XEmbeddedResource, schema.flag(Keyword::XEmbeddedResource)),
        (Keyword::XIntOrString, schema.flag(Keyword::XIntOrString)),
        (Keyword::XListMapKeys, schema.fills(Keyword::XListMapKeys)),
        (Keyword::XListType, schema.has(Keyword::XListType)),
        (Keyword::XMapType, schema.has(Keyword::XMapType)),
        (Keyword::XValidations, schema.fills(Keyword::XValidations)),
    ] {
        if set {
            let message =
                format!("`{}` is not allowed below `allOf`, `anyOf`, `oneOf` or `not`", keyword.name());
            reporter.keyword(node, keyword, message);
        }
    }
}

/// Returns whether the schema is part of the allowed form of int-or-string: `anyOf` with the types integer and string and
/// nothing else, or the same as the first of `allOf`.
fn is_int_or_string(node: &SchemaNode<'_, '_>) -> bool {
    let (SchemaRole::AnyOf, Some(parent)) = (node.role, node.parent) else { return false };
    let outside = match parent.role {
        SchemaRole::FirstOfAll => {
            parent.parent.is_some_and(|above| above.place == StructuralPosition::Skeleton)
        }
        _ => false,
    };
    (outside || parent.place == StructuralPosition::Skeleton) && is_pattern(parent.schema)
}

fn is_pattern(schema: &Schema<'_>) -> bool {
    let only = Keywords::new(&[Keyword::Type]);
    schema.list(Keyword::AnyOf).len() == 2
        && schema.list(Keyword::AnyOf).zip(["integer", "string"]).all(|(alternative, kind)| {
            let alternative = Schema::read(alternative);
            alternative.kind() == kind && alternative.structural() == only
        })
}
