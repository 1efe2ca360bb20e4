use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "permission-account-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A permission of the install strategy has no service account.",
    impacts: &[
        Impact::ObjectRejected,
        Impact::Specific("OLM creates the service account, which requires a name."),
    ],
    help: "set serviceAccountName to the service account of the Deployment",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/registry/resolver/rbac.go",
        &["RBACForClusterServiceVersion"],
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let strategy = root.field("spec.install.spec");
    let spec = &csv.typed.spec.install.spec;
    for (field, permissions) in
        [("permissions", &spec.permissions), ("clusterPermissions", &spec.cluster_permissions)]
    {
        let list = strategy.field(field);
        for (index, permission) in permissions.iter().enumerate() {
            if permission.service_account_name.is_empty() {
                let entry = list.index(index);
                let message = "missing required field `serviceAccountName`";
                reporter.field(&csv.object, &entry.field("serviceAccountName"), message);
            }
        }
    }
}
