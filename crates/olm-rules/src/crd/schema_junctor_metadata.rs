use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-junctor-metadata",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema below `allOf`, `anyOf`, `oneOf` or `not` has a property `metadata`.",
    impacts: &[Impact::CrdRejected],
    help: "validate metadata.name with a rule of x-kubernetes-validations at the root of the schema",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateNestedValueValidation"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Properties]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place == StructuralPosition::Nested && node.schema.property("metadata").is_some() {
        let properties = node.path.field("properties");
        let message = "`metadata` must not be restricted below `allOf`, `anyOf`, `oneOf` or `not`";
        reporter.field(&node.crd.object, &properties.key("metadata"), message);
    }
}
