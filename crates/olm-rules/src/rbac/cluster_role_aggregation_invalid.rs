use crate::kubernetes::selectors;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "cluster-role-aggregation-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The aggregation rule of a ClusterRole has no selectors, or an invalid one.",
    impacts: &[Impact::ObjectRejected],
    help: "add at least one selector to clusterRoleSelectors",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/rbac/validation/validation.go",
        &["ValidateClusterRole"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::ClusterRole(role) = &known.typed else { return };
    let Some(aggregation) = &role.aggregation_rule else { return };
    let root = Path::ROOT;
    let list = root.field("aggregationRule.clusterRoleSelectors");
    let found = aggregation.cluster_role_selectors.as_deref().unwrap_or_default();
    if found.is_empty() {
        errors.add(&list, "missing selectors: at least one is required");
    }
    for (index, selector) in found.iter().enumerate() {
        selectors::validate(Some(selector), &list.index(index), errors);
    }
}
