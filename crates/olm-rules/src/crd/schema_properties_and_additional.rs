use crate::prelude::*;
use olm_model::crd::{Additional, Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-properties-and-additional",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema has both `properties` and `additionalProperties`.",
    impacts: &[Impact::CrdRejected],
    help: "keep `properties` for an object with known fields, or `additionalProperties` for a map",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::AdditionalProperties]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let exclusive = match node.schema.additional() {
        // Below allOf or similar, another rule rejects a schema.
        Additional::Schema(_) => node.place == StructuralPosition::Skeleton,
        Additional::Boolean(any) => !any,
        Additional::Unset => false,
    };
    let elsewhere = node.role == SchemaRole::Root || node.schema.flag(Keyword::XEmbeddedResource);
    if exclusive && !elsewhere && node.schema.fills(Keyword::Properties) {
        let message = "`additionalProperties` and `properties` are mutually exclusive";
        reporter.keyword(node, Keyword::AdditionalProperties, message);
    }
}
