use super::default::{metadata, site};
use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-default-metadata-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default has an invalid `apiVersion`, `kind` or `metadata` for a resource that its schema embeds.",
    impacts: &[Impact::CrdRejected],
    help: "correct apiVersion, kind or metadata in the default",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/schema/defaulting/validation.go")
            .since("1.16"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/schema/objectmeta/validation.go")
            .since("1.16"),
    ],
    check: Check::Schema(Keywords::new(&[Keyword::Default]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if let Some(default) = site(node)
        && let Err(problem) = metadata(node, default)
    {
        let message =
            format!("the default is not a valid resource: {} at `{}`", problem.message, problem.path);
        reporter.keyword(node, Keyword::Default, message);
    }
}
