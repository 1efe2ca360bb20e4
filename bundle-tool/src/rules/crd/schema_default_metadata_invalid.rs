use super::default::{metadata, site};
use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-default-metadata-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default is no valid resource, or part of one, though its schema says that it is.",
    why: "The API server refuses the CRD.",
    help: "mend the default's apiVersion, kind or metadata",
    source: "apiextensions-apiserver, pkg/apiserver/schema/defaulting/validation.go, pkg/apiserver/schema/objectmeta/validation.go",
    check: Check::Schema(Keywords::of(&[Keyword::Default]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if let Some(default) = site(node)
        && let Err(problem) = metadata(node, default)
    {
        let message = format!("the default gives no valid resource: {}: {}", problem.path, problem.message);
        reporter.keyword(node, Keyword::Default, message);
    }
}
