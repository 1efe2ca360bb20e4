use super::policy;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "role-binding-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A binding names no role, a role of another kind, or a subject that cannot be.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "name a Role or ClusterRole, and subjects with kind, name and, for accounts of a ClusterRoleBinding, namespace",
    source: "k8s.io/kubernetes, pkg/apis/rbac/validation/validation.go (ValidateRoleBinding, ValidateClusterRoleBinding)",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let (role, subjects) = (root.field("roleRef"), root.field("subjects"));
    match &known.typed {
        Typed::RoleBinding(binding) => {
            policy::role(&binding.role_ref, &["Role", "ClusterRole"], &role, errors);
            policy::subjects(binding.subjects.as_ref(), true, &subjects, errors);
        }
        Typed::ClusterRoleBinding(binding) => {
            policy::role(&binding.role_ref, &["ClusterRole"], &role, errors);
            policy::subjects(binding.subjects.as_ref(), false, &subjects, errors);
        }
        _ => {}
    }
}
