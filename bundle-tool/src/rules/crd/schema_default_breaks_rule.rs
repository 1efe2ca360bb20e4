use super::default::{metadata, site};
use crate::model::crd::{Keyword, Keywords};
use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Reporter, Rule, SchemaNode, expressions, openapi};

pub(super) static RULE: Rule = Rule {
    id: "schema-default-breaks-rule",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default breaks a rule of `x-kubernetes-validations` of its own schema.",
    impacts: &[Impact::CrdRejected],
    help: "change the default so that it satisfies the rule, or guard optional fields in the rule with `has()`",
    sources: &[Source::file(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/defaulting/validation.go",
    )],
    check: Check::Schema(Keywords::of(&[Keyword::Default]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let fits = |default: &_| {
        !node.is_resource()
            && metadata(node, *default).is_ok()
            && openapi::validate(*default, node.schema, &Path::ROOT).is_ok()
    };
    let Some(default) = site(node).filter(fits) else { return };
    if let Some(message) = expressions::broken_rule(node.schema.value, default) {
        reporter.keyword(node, Keyword::Default, message);
    }
}
