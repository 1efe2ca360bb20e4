use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-keyword-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A schema has a keyword that Kubernetes does not know.",
    why: "The keyword is dropped: what it asks for is not checked.",
    help: "remove the keyword, or mend its name",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/v1/types_jsonschema.go",
    check: Check::Schema(Keywords::UNKNOWN, check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    for (key, _) in node.schema.value.unique_entries() {
        let name = key.text();
        if Keyword::parse(name).is_none() {
            let message = format!("Kubernetes knows no keyword `{name}`");
            let path = if name.contains('.') { node.path.key(name) } else { node.path.field(name) };
            reporter.field(&node.crd.object, &path, message);
        }
    }
}
