use crate::prelude::*;
use kubernetes_cel::go_regex::GoRegex;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-pattern-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The pattern of a schema is not a valid Go regular expression.",
    impacts: &[Impact::CrdRejected],
    help: "rewrite the pattern in RE2 syntax, without lookaround, backreferences or possessive quantifiers",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateValueValidation"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Pattern]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if let Err(error) = GoRegex::parse(node.schema.string(Keyword::Pattern)) {
        reporter.keyword(node, Keyword::Pattern, format!("invalid pattern: {error}"));
    }
}
