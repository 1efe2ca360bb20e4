use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-list-type-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`x-kubernetes-list-type` is not `atomic`, `set` or `map`, or its schema is not of type `array`.",
    impacts: &[Impact::CrdRejected],
    help: "set `type: array`, and x-kubernetes-list-type to `atomic`, `set` or `map`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place != StructuralPosition::Skeleton {
        return;
    }
    let list_type = node.schema.string(Keyword::XListType);
    if !matches!(list_type, "atomic" | "set" | "map") {
        reporter.keyword(
            node,
            Keyword::XListType,
            format!("unsupported list type `{list_type}`: must be `atomic`, `set` or `map`"),
        );
    }
    let kind = node.schema.kind();
    if kind != "array" && (!kind.is_empty() || typeless(node)) {
        reporter.keyword(node, Keyword::Type, "`x-kubernetes-list-type` requires type `array`");
    }
}

/// Returns whether another keyword allows the schema to have no type.
fn typeless(node: &SchemaNode<'_, '_>) -> bool {
    let keywords = [Keyword::XIntOrString, Keyword::XPreserveUnknownFields, Keyword::XEmbeddedResource];
    keywords.iter().any(|keyword| node.schema.flag(*keyword))
}
