use crate::model::crd::Keywords;
use crate::model::yaml::{Kind, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-keyword-type",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A keyword of a schema has a value of the wrong type.",
    why: "The API server cannot read the CRD.",
    help: "give the keyword a value of its type",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/v1/types_jsonschema.go and marshal.go",
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
