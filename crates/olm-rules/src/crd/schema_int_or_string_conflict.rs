use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-int-or-string-conflict",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A schema combines `x-kubernetes-int-or-string` with `x-kubernetes-preserve-unknown-fields` or `x-kubernetes-embedded-resource`.",
    impacts: &[Impact::CrdRejected],
    help: "remove all but one of these keywords",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateExtensions"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::XIntOrString]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.place != StructuralPosition::Skeleton || !node.schema.flag(Keyword::XIntOrString) {
        return;
    }
    for keyword in [Keyword::XPreserveUnknownFields, Keyword::XEmbeddedResource] {
        if node.schema.flag(keyword) {
            let message =
                format!("`{}` and `x-kubernetes-int-or-string` are mutually exclusive", keyword.name());
            reporter.keyword(node, keyword, message);
        }
    }
}
