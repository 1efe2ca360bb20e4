use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "permission-account-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A permission of the install strategy names no service account.",
    why: "OLM creates the account, and an account needs a name.",
    help: "write the serviceAccountName that the Deployment runs under",
    source: "operator-lifecycle-manager, pkg/controller/registry/resolver/rbac.go (RBACForClusterServiceVersion)",
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
                let message = "the permission names no service account";
                reporter.field(&csv.object, &entry.field("serviceAccountName"), message);
            }
        }
    }
}
