use super::policy;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "role-rule-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A rule of a Role or ClusterRole has no verbs, API groups or resources, or combines resources with non-resource URLs.",
    impacts: &[Impact::ObjectRejected],
    help: "set verbs, apiGroups and resources, or, in a ClusterRole, verbs and nonResourceURLs",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/rbac/validation/validation.go",
        &["ValidatePolicyRule"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let (rules, namespaced) = match &known.typed {
        Typed::Role(role) => (&role.rules, true),
        Typed::ClusterRole(role) => (&role.rules, false),
        _ => return,
    };
    let root = Path::ROOT;
    let list = root.field("rules");
    for (index, rule) in rules.iter().flatten().enumerate() {
        policy::rule(rule, namespaced, &list.index(index), errors);
    }
}
