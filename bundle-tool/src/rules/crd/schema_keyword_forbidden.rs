use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-keyword-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema has a keyword that Kubernetes does not support.",
    why: "The API server refuses the CRD.",
    help: "write the schema without it",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (specStandardValidatorV3), pkg/apiserver/schema/convert.go (validateUnsupportedFields)",
    check: Check::Schema(
        Keywords::of(&[
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
        (Keyword::Id, !schema.text(Keyword::Id).is_empty()),
        (Keyword::MetaSchema, !schema.text(Keyword::MetaSchema).is_empty()),
        (Keyword::Ref, schema.has(Keyword::Ref)),
        (Keyword::PatternProperties, schema.fills(Keyword::PatternProperties)),
        (Keyword::Definitions, schema.fills(Keyword::Definitions)),
        (Keyword::Dependencies, schema.has(Keyword::Dependencies)),
        (Keyword::AdditionalItems, schema.has(Keyword::AdditionalItems)),
        (Keyword::UniqueItems, schema.flag(Keyword::UniqueItems)),
    ] {
        if set {
            let instead = match keyword {
                Keyword::UniqueItems => "; x-kubernetes-list-type: set makes items unique",
                Keyword::PatternProperties => "; additionalProperties describes the values of a map",
                _ => "",
            };
            reporter.keyword(node, keyword, format!("`{}` is not supported{instead}", keyword.name()));
        }
    }
}
