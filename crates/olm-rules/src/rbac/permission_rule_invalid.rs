use super::policy;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "permission-rule-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A rule of the CSV's permissions has no verbs, API groups or resources, or combines resources with non-resource URLs.",
    impacts: &[Impact::ObjectRejected],
    help: "set verbs, apiGroups and resources, or, in clusterPermissions, verbs and nonResourceURLs",
    sources: &[
        Source::file(Project::OperatorLifecycleManager, "pkg/controller/registry/resolver/rbac.go")
            .since("0.14"),
        Source::file(Project::Kubernetes, "pkg/apis/rbac/validation/validation.go").since("1.16"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let mut errors = ErrorReporter::new(csv.object, reporter);
    let root = Path::ROOT;
    let path = root.field("spec.install.spec");
    let strategy = &csv.typed.spec.install.spec;
    for (field, permissions, namespaced) in [
        ("permissions", &strategy.permissions, true),
        ("clusterPermissions", &strategy.cluster_permissions, false),
    ] {
        let list = path.field(field);
        for (index, permission) in permissions.iter().enumerate() {
            let path = list.index(index);
            let list = path.field("rules");
            for (index, rule) in permission.rules.iter().enumerate() {
                policy::rule(rule, namespaced, &list.index(index), &mut errors);
            }
        }
    }
}
