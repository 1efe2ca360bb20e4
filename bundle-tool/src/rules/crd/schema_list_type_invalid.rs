use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-list-type-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`x-kubernetes-list-type` is none of `atomic`, `set` and `map`, or the schema is no list.",
    why: "The API server refuses the CRD.",
    help: "set type: array, and x-kubernetes-list-type to atomic, set or map",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionOpenAPISchema)",
    check: Check::Schema(Keywords::of(&[Keyword::XListType]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place != Place::Skeleton {
        return;
    }
    let list_type = node.schema.text(Keyword::XListType);
    if !matches!(list_type, "atomic" | "set" | "map") {
        reporter.keyword(node, Keyword::XListType, format!("'{list_type}' is none of atomic, set and map"));
    }
    let kind = node.schema.kind();
    if kind != "array" && (!kind.is_empty() || typeless(node)) {
        reporter.keyword(node, Keyword::Type, "x-kubernetes-list-type needs type: array");
    }
}

/// Whether another rule lets the schema pass without a type.
fn typeless(node: &SchemaNode<'_, '_>) -> bool {
    let keywords = [Keyword::XIntOrString, Keyword::XPreserveUnknownFields, Keyword::XEmbeddedResource];
    keywords.iter().any(|keyword| node.schema.flag(*keyword))
}
