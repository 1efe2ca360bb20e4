use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};
use olm_model::report::suggest::{did_you_mean, nearest};

pub(crate) static RULE: Rule = Rule {
    id: "schema-keyword-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A schema has a keyword that CRDs do not declare.",
    impacts: &[Impact::Specific(
        "The API server drops the keyword without an error, and does not enforce it.",
    )],
    help: "remove the keyword, or correct its name",
    sources: &[Source::file(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/v1/types_jsonschema.go",
    )
    .since("1.16")],
    check: Check::Schema(Keywords::UNKNOWN, check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    for (key, _) in node.schema.value.unique_entries() {
        let name = key.text();
        if Keyword::parse(name).is_none() {
            if reporter.skip_if_full() {
                continue;
            }
            let known = Keyword::ALL.iter().map(|keyword| keyword.name());
            let message = format!("unknown keyword `{name}`{}", did_you_mean(name, known));
            let path = if name.contains('.') { node.path.key(name) } else { node.path.field(name) };
            let known = Keyword::ALL.iter().map(|keyword| keyword.name());
            let fix = |near: &str| Fix::new(Safety::Unsafe, &path, Change::Rename(near.to_owned()));
            reporter.fix(nearest(name, known).map(fix));
            reporter.field(&node.crd.object, &path, message);
        }
    }
}
