use super::default::{metadata, site};
use crate::openapi;
use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-default-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default does not match its own schema.",
    impacts: &[Impact::CrdRejected],
    help: "change the default, or the schema that it has to match",
    sources: &[Source::file(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/defaulting/validation.go",
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Default]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Some(default) = site(node).filter(|default| metadata(node, *default).is_ok()) else { return };
    let (budget, server) = (&node.crd.work_budget, reporter.server());
    if let Err(mismatch) = openapi::validate(default, node.schema, &Path::ROOT, budget, server) {
        let what = if mismatch.path.is_empty() { String::new() } else { format!(" at `{}`", mismatch.path) };
        let message = format!("the default does not match its schema{what}: {}", mismatch.message);
        reporter.keyword(node, Keyword::Default, message);
    }
}
