use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-keyword-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema has a keyword that CRDs do not support.",
    impacts: &[Impact::CrdRejected],
    help: "remove the keyword",
    sources: &[
        Source::symbols(
            Project::ApiextensionsApiserver,
            "pkg/apis/apiextensions/validation/validation.go",
            &["specStandardValidatorV3"],
        )
        .since("1.16"),
        Source::symbols(
            Project::ApiextensionsApiserver,
            "pkg/apiserver/schema/convert.go",
            &["validateUnsupportedFields"],
        )
        .since("1.16"),
    ],
    check: Check::Schema(
        Keywords::new(&[
            Keyword::Id,
            Keyword::MetaSchema,
            Keyword::Ref,
            Keyword::PatternProperties,
            Keyword::Definitions,
            Keyword::Dependencies,
            Keyword::AdditionalItems,
            Keyword::UniqueItems,
        ]),
        check,
    ),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let schema = node.schema;
    for (keyword, set) in [
        (Keyword::Id, !schema.string(Keyword::Id).is_empty()),
        (Keyword::MetaSchema, !schema.string(Keyword::MetaSchema).is_empty()),
        (Keyword::Ref, schema.has(Keyword::Ref)),
        (Keyword::PatternProperties, schema.fills(Keyword::PatternProperties)),
        (Keyword::Definitions, schema.fills(Keyword::Definitions)),
        (Keyword::Dependencies, schema.has(Keyword::Dependencies)),
        (Keyword::AdditionalItems, schema.has(Keyword::AdditionalItems)),
        (Keyword::UniqueItems, schema.flag(Keyword::UniqueItems)),
    ] {
        if set {
            let instead = match keyword {
                Keyword::UniqueItems => ": use `x-kubernetes-list-type: set`",
                Keyword::PatternProperties => ": use `additionalProperties` for the values of a map",
                _ => "",
            };
            reporter.keyword(node, keyword, format!("unsupported keyword `{}`{instead}", keyword.name()));
        }
    }
}
