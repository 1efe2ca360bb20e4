use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-root-nullable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The schema of a resource is nullable.",
    impacts: &[Impact::CrdRejected],
    help: "remove `nullable` from the root of the schema",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateCustomResourceDefinitionValidation"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Nullable]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.role == SchemaRole::Root && node.schema.flag(Keyword::Nullable) {
        reporter.keyword(node, Keyword::Nullable, "a resource must not be nullable");
    }
}
