use super::policy;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "role-binding-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A binding has no role, a role of an unsupported kind, or an invalid subject.",
    impacts: &[Impact::ObjectRejected],
    help: "set roleRef to a Role or ClusterRole, and kind and name of each subject; a ServiceAccount in a ClusterRoleBinding also requires a namespace",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/rbac/validation/validation.go",
        &["ValidateRoleBinding", "ValidateClusterRoleBinding"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
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
