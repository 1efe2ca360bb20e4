use super::default::{metadata, site};
use crate::model::crd::{Keyword, Keywords};
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::openapi;
use crate::rules::{Check, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-default-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default does not fit its own schema.",
    why: "The API server refuses the CRD.",
    help: "mend the default, or what its schema allows",
    source: "apiextensions-apiserver, pkg/apiserver/schema/defaulting/validation.go",
    check: Check::Schema(Keywords::of(&[Keyword::Default]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Some(default) = site(node).filter(|default| metadata(node, *default).is_ok()) else { return };
    if let Err(mismatch) = openapi::validate(default, node.schema, &Path::ROOT) {
        let what = if mismatch.path.is_empty() { String::new() } else { format!(" at '{}'", mismatch.path) };
        let message = format!("the default does not fit its schema{what}: it {}", mismatch.message);
        reporter.keyword(node, Keyword::Default, message);
    }
}
