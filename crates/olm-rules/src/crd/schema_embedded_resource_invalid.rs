use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-embedded-resource-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema with `x-kubernetes-embedded-resource` is not of type `object`, declares no properties, or is part of metadata.",
    impacts: &[Impact::CrdRejected],
    help: "set `type: object`, and declare properties or set `x-kubernetes-preserve-unknown-fields: true`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateStructuralInvariants"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::XEmbeddedResource]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let schema = node.schema;
    if node.place != StructuralPosition::Skeleton || !schema.flag(Keyword::XEmbeddedResource) {
        return;
    }
    // x-kubernetes-int-or-string beside it is rejected by another rule.
    if schema.kind() != "object" && !schema.flag(Keyword::XIntOrString) {
        reporter.keyword(node, Keyword::Type, "an embedded resource must be of type `object`");
    }
    if node.in_meta {
        let message = "a resource cannot be embedded in `apiVersion`, `kind` or `metadata` of another";
        reporter.keyword(node, Keyword::XEmbeddedResource, message);
    }
    if !schema.flag(Keyword::XPreserveUnknownFields) && !schema.fills(Keyword::Properties) {
        let message =
            "an embedded resource must have `properties` or `x-kubernetes-preserve-unknown-fields: true`";
        reporter.keyword(node, Keyword::Properties, message);
    }
}
