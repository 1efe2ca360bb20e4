use crate::prelude::*;
use kube_yaml::Value;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-preserve-unknown-fields-false",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema sets `x-kubernetes-preserve-unknown-fields` to false.",
    impacts: &[Impact::CrdRejected],
    help: "remove the keyword: undeclared fields are dropped by default",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::XPreserveUnknownFields]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let keyword = Keyword::XPreserveUnknownFields;
    if node.schema.get(keyword).and_then(Value::as_bool) == Some(false) {
        reporter.fix(Fix::new(Safety::Safe, &node.path.field(keyword.name()), Change::Remove));
        reporter.keyword(node, keyword, format!("`{}` must be true or unset", keyword.name()));
    }
}
