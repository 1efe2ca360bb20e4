use crate::prelude::*;
use olm_model::crd::{Items, Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-items-list",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`items` is a list of schemas.",
    impacts: &[Impact::CrdRejected],
    help: "replace the list with one schema for all items",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["specStandardValidatorV3"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Items]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if matches!(node.schema.items(), Items::Other) && node.schema.fills(Keyword::Items) {
        reporter.keyword(node, Keyword::Items, "`items` must be a schema, found a list");
    }
}
