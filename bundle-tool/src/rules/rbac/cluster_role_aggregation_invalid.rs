use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, selectors};
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "cluster-role-aggregation-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A ClusterRole that gathers others has no selector, or one that cannot be.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "give clusterRoleSelectors at least one selector",
    source: "k8s.io/kubernetes, pkg/apis/rbac/validation/validation.go (ValidateClusterRole)",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::ClusterRole(role) = &known.typed else { return };
    let Some(aggregation) = &role.aggregation_rule else { return };
    let root = Path::ROOT;
    let list = root.field("aggregationRule.clusterRoleSelectors");
    let found = aggregation.cluster_role_selectors.as_deref().unwrap_or_default();
    if found.is_empty() {
        errors.add(&list, "there are no selectors: nothing is gathered");
    }
    for (index, selector) in found.iter().enumerate() {
        selectors::validate(Some(selector), &list.index(index), errors);
    }
}
