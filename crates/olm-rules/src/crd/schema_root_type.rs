use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-root-type",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The type of the schema of a resource is not `object`.",
    impacts: &[Impact::CrdRejected],
    help: "set `type: object` at the root of the schema",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateStructuralInvariants"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Type]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let kind = node.schema.kind();
    // Another rule reports an unsupported type.
    if node.role == SchemaRole::Root && matches!(kind, "array" | "boolean" | "integer" | "number" | "string")
    {
        reporter.keyword(
            node,
            Keyword::Type,
            format!("invalid type `{kind}`: the root of a schema must be of type `object`"),
        );
    }
}
