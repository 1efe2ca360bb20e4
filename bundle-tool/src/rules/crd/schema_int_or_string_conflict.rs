use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-int-or-string-conflict",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`x-kubernetes-int-or-string` stands beside `x-kubernetes-preserve-unknown-fields` or `x-kubernetes-embedded-resource`.",
    why: "The API server refuses the CRD.",
    help: "keep one of them",
    source: "apiextensions-apiserver, pkg/apiserver/schema/validation.go (validateExtensions)",
    check: Check::Schema(Keywords::of(&[Keyword::XIntOrString]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place != Place::Skeleton || !node.schema.flag(Keyword::XIntOrString) {
        return;
    }
    for keyword in [Keyword::XPreserveUnknownFields, Keyword::XEmbeddedResource] {
        if node.schema.flag(keyword) {
            let message = format!("`{}` and x-kubernetes-int-or-string exclude each other", keyword.name());
            reporter.keyword(node, keyword, message);
        }
    }
}
