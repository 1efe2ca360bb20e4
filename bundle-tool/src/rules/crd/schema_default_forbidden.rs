use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-default-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default stands where none is allowed: in `apiVersion`, `kind` or `metadata` of the resource, or for any value of a map in an object's metadata.",
    why: "The API server refuses the CRD.",
    help: "remove the default",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionOpenAPISchema)",
    check: Check::Schema(Keywords::of(&[Keyword::Default]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if let Some(where_) = node.no_default.filter(|_| node.place == Place::Skeleton) {
        reporter.keyword(node, Keyword::Default, format!("a default is not allowed {where_}"));
    }
}
