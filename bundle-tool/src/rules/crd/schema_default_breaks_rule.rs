use super::default::{metadata, site};
use crate::model::crd::{Keyword, Keywords};
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule, SchemaNode, expressions, openapi};

pub(super) static RULE: Rule = Rule {
    id: "schema-default-breaks-rule",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default breaks a rule of `x-kubernetes-validations` that its own schema has.",
    why: "The API server refuses the CRD.",
    help: "mend the default, or the rule: a field that the default does not have is asked for with has(...)",
    source: "apiextensions-apiserver, pkg/apiserver/schema/defaulting/validation.go",
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
