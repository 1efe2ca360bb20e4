use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-default-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema sets a default where none is allowed: in `apiVersion`, `kind` or `metadata` of the resource, or in `additionalProperties` of an object's metadata.",
    impacts: &[Impact::CrdRejected],
    help: "remove the default",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Default]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if let Some(where_) = node.no_default.filter(|_| node.place == StructuralPosition::Skeleton) {
        reporter.keyword(node, Keyword::Default, format!("a default is not allowed {where_}"));
    }
}
