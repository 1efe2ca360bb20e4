use crate::prelude::*;
use kube_yaml::{Kind, Value};
use olm_model::crd::Keywords;

pub(crate) static RULE: Rule = Rule {
    id: "schema-keyword-type",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A keyword of a schema has a value of the wrong type.",
    impacts: &[Impact::CrdRejected],
    help: "set the keyword to a value of the expected type",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/v1/types_jsonschema.go")
            .since("1.16"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/v1/marshal.go").since("1.16"),
    ],
    check: Check::Schema(Keywords::MISTYPED, check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    for (keyword, wanted) in node.schema.mistyped() {
        let found = node.schema.value.get(keyword.name()).map(Value::kind);
        let found = found
            .filter(|kind| !matches!(kind, Kind::Array | Kind::Object))
            .map(|kind| format!(", found {kind}"));
        let message = format!("`{}` must be {wanted}{}", keyword.name(), found.unwrap_or_default());
        reporter.keyword(node, keyword, message);
    }
}
