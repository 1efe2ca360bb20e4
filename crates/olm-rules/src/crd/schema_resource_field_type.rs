use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-resource-field-type",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The schema of a resource declares `apiVersion` or `kind` with a type other than `string`, or `metadata` with a type other than `object`.",
    impacts: &[Impact::CrdRejected],
    help: "set `type: string` for apiVersion and kind, and `type: object` for metadata",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateStructuralInvariants"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Properties]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place != StructuralPosition::Skeleton || !node.is_resource() {
        return;
    }
    let properties = node.path.field("properties");
    for (name, wanted) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let Some(schema) = node.schema.property(name).map(Schema::read) else { continue };
        let kind = schema.kind();
        // Another rule reports a missing type, unless a keyword allows it.
        let passes = [Keyword::XIntOrString, Keyword::XPreserveUnknownFields]
            .iter()
            .any(|keyword| schema.flag(*keyword));
        if kind != wanted && (passes || !kind.is_empty()) {
            let property = properties.key(name);
            let message = format!("`{name}` of a resource must be of type `{wanted}`");
            reporter.field(&node.crd.object, &property.field("type"), message);
        }
    }
}
