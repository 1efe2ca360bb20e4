use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-additional-at-resource",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The schema of a resource, or of an embedded resource, has `additionalProperties`.",
    impacts: &[Impact::CrdRejected],
    help: "remove additionalProperties; set `x-kubernetes-preserve-unknown-fields: true` to keep undeclared fields",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateStructuralInvariants"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::AdditionalProperties]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place == StructuralPosition::Skeleton && node.is_resource() {
        let message = "`additionalProperties` is not allowed in the schema of a resource";
        reporter.keyword(node, Keyword::AdditionalProperties, message);
    }
}
