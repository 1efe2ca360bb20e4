use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-type-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema has no type.",
    impacts: &[Impact::CrdRejected],
    help: "set `type`, or `x-kubernetes-int-or-string: true` or `x-kubernetes-preserve-unknown-fields: true`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateStructuralInvariants"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::EVERY, check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let schema = node.schema;
    let typeless = [Keyword::XIntOrString, Keyword::XPreserveUnknownFields, Keyword::XEmbeddedResource];
    let needed = node.place == StructuralPosition::Skeleton && schema.kind().is_empty();
    if !needed || typeless.iter().any(|keyword| schema.flag(*keyword)) {
        return;
    }
    let what = match node.role {
        SchemaRole::Root => "the schema",
        SchemaRole::Items => "the schema of the items",
        SchemaRole::Additional => "the schema of the values",
        _ => "the field",
    };
    reporter.keyword(node, Keyword::Type, format!("missing `type` of {what}"));
}
