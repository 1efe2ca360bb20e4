use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-additional-at-resource",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The schema of a resource, or of one embedded in it, has `additionalProperties`.",
    why: "The API server refuses the CRD.",
    help: "remove it; x-kubernetes-preserve-unknown-fields: true keeps fields that are not described",
    source: "apiextensions-apiserver, pkg/apiserver/schema/validation.go (validateStructuralInvariants)",
    check: Check::Schema(Keywords::of(&[Keyword::AdditionalProperties]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place == Place::Skeleton && node.is_resource() {
        let message = "a resource is no map: `additionalProperties` is not allowed here";
        reporter.keyword(node, Keyword::AdditionalProperties, message);
    }
}
