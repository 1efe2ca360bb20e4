use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-junctor-metadata",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Below `allOf`, `anyOf`, `oneOf` or `not` stands a property `metadata`.",
    why: "The API server refuses the CRD.",
    help: "restrict metadata.name with a rule of x-kubernetes-validations at the root instead",
    source: "apiextensions-apiserver, pkg/apiserver/schema/validation.go (validateNestedValueValidation)",
    check: Check::Schema(Keywords::of(&[Keyword::Properties]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place == Place::Nested && node.schema.property("metadata").is_some() {
        let properties = node.path.field("properties");
        let message = "`metadata` cannot be restricted below allOf, anyOf, oneOf and not";
        reporter.field(&node.crd.object, &properties.key("metadata"), message);
    }
}
