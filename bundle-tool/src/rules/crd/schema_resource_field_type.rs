use crate::model::crd::{Keyword, Keywords, Schema};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-resource-field-type",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`apiVersion` or `kind` of a resource is described as something else than a string, or `metadata` as something else than an object.",
    why: "The API server refuses the CRD.",
    help: "set type: string for apiVersion and kind, and type: object for metadata",
    source: "apiextensions-apiserver, pkg/apiserver/schema/validation.go (validateStructuralInvariants)",
    check: Check::Schema(Keywords::of(&[Keyword::Properties]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place != Place::Skeleton || !node.is_resource() {
        return;
    }
    let properties = node.path.field("properties");
    for (name, wanted) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let Some(schema) = node.schema.property(name).map(Schema::read) else { continue };
        let kind = schema.kind();
        // A missing type is another rule's, unless that lets it pass.
        let passes = [Keyword::XIntOrString, Keyword::XPreserveUnknownFields]
            .iter()
            .any(|keyword| schema.flag(*keyword));
        if kind != wanted && (passes || !kind.is_empty()) {
            let property = properties.key(name);
            let message = format!("{name} of a resource must be of type {wanted}");
            reporter.field(&node.crd.object, &property.field("type"), message);
        }
    }
}
