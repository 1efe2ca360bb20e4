use crate::model::crd::{Keyword, Keywords};
use crate::model::yaml::Value;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-preserve-unknown-fields-false",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`x-kubernetes-preserve-unknown-fields` is false.",
    why: "The API server refuses the CRD.",
    help: "remove it: fields that are not described are dropped without it",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionOpenAPISchema)",
    check: Check::Schema(Keywords::of(&[Keyword::XPreserveUnknownFields]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let keyword = Keyword::XPreserveUnknownFields;
    if node.schema.get(keyword).and_then(Value::as_bool) == Some(false) {
        reporter.keyword(node, keyword, format!("`{}` must be true, or left out", keyword.name()));
    }
}
