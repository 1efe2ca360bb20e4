use crate::prelude::*;
use olm_model::Object;

pub(crate) static RULE: Rule = Rule {
    id: "object-version-unserved",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object of a built-in kind has an API version that Kubernetes does not serve.",
    impacts: &[Impact::ObjectRejected],
    help: "set apiVersion to the version that Kubernetes serves",
    sources: &[Source::file(Project::KubernetesDocs, "Deprecated API Migration Guide")],
    check: Check::Object(check),
};

/// The built-in kinds that a bundle may contain, with the API version that serves them.
const SERVED: [(&str, &str); 11] = [
    ("ClusterRole", "rbac.authorization.k8s.io/v1"),
    ("ClusterRoleBinding", "rbac.authorization.k8s.io/v1"),
    ("ConfigMap", "v1"),
    ("NetworkPolicy", "networking.k8s.io/v1"),
    ("PodDisruptionBudget", "policy/v1"),
    ("PriorityClass", "scheduling.k8s.io/v1"),
    ("Role", "rbac.authorization.k8s.io/v1"),
    ("RoleBinding", "rbac.authorization.k8s.io/v1"),
    ("Secret", "v1"),
    ("Service", "v1"),
    ("ServiceAccount", "v1"),
];
/// The built-in groups; a kind of the same name in another group is a custom resource.
const GROUPS: [&str; 8] = [
    "",
    "apps",
    "autoscaling",
    "extensions",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
];

fn check(object: &Object<'_>, reporter: &mut Reporter<'_>) {
    let Some((kind, version)) = SERVED.iter().find(|(kind, _)| *kind == object.kind()) else { return };
    if object.api_version() != *version && GROUPS.contains(&object.group()) {
        let root = Path::ROOT;
        let message = format!(
            "unsupported apiVersion `{}` of kind `{kind}`: must be `{version}`",
            object.api_version()
        );
        let set = Change::SetString((*version).to_owned());
        // In policy/v1, an empty selector selects all pods, and in v1beta1 none.
        let safety = if *kind == "PodDisruptionBudget" { Safety::Unsafe } else { Safety::Safe };
        let is_older = object.group() == version.split_once('/').map_or("", |(group, _)| group);
        let fix = Fix::new(safety, &root.field("apiVersion"), set);
        reporter.fix(if is_older { fix } else { fix.reviewed() });
        reporter.field(object, &root.field("apiVersion"), message);
    }
}
