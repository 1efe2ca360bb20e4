use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::openapi;
use crate::rules::{Check, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-format-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The format of a string is none that Kubernetes checks.",
    why: "The format is accepted with a warning, and never checked.",
    help: "use a format that Kubernetes knows, or a pattern",
    source: "apiextensions-apiserver, pkg/apiserver/validation/formats.go",
    check: Check::Schema(Keywords::of(&[Keyword::Format]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let format = node.schema.text(Keyword::Format);
    if node.schema.kind() == "string" && !format.is_empty() && !openapi::is_checked(format) {
        reporter.keyword(node, Keyword::Format, format!("Kubernetes does not check the format '{format}'"));
    }
}
