use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-map-type-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`x-kubernetes-map-type` is neither `granular` nor `atomic`, or its schema is not of type `object`.",
    impacts: &[Impact::CrdRejected],
    help: "set `type: object`, and x-kubernetes-map-type to `granular` or `atomic`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.17")],
    check: Check::Schema(Keywords::new(&[Keyword::XMapType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place != StructuralPosition::Skeleton {
        return;
    }
    let map_type = node.schema.string(Keyword::XMapType);
    if !matches!(map_type, "granular" | "atomic") {
        reporter.keyword(
            node,
            Keyword::XMapType,
            format!("unsupported map type `{map_type}`: must be `granular` or `atomic`"),
        );
    }
    let kind = node.schema.kind();
    if kind != "object" && (!kind.is_empty() || typeless(node)) {
        reporter.keyword(node, Keyword::Type, "`x-kubernetes-map-type` requires type `object`");
    }
}

/// Returns whether another keyword allows the schema to have no type.
fn typeless(node: &SchemaNode<'_, '_>) -> bool {
    [Keyword::XIntOrString, Keyword::XPreserveUnknownFields].iter().any(|keyword| node.schema.flag(*keyword))
}
