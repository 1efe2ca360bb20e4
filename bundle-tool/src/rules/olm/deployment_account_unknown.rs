use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-account-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A Deployment of the CSV runs under a service account that neither the CSV's permissions nor the bundle create.",
    why: "Its pods cannot start before somebody creates the account: the CSV stays Installing and fails after a while.",
    help: "give the account its permissions in the CSV, or name one that has them",
    source: "operator-lifecycle-manager, pkg/controller/registry/resolver/rbac.go (RBACForClusterServiceVersion)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(csv) = context.csvs.first() else { return };
    let spec = &csv.typed.spec.install.spec;
    let permissions = || spec.permissions.iter().chain(&spec.cluster_permissions);
    let accounts: Vec<_> =
        context.objects.iter().filter(|object| object.is("v1", "ServiceAccount")).collect();
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    for (index, deployment) in spec.deployments.iter().enumerate() {
        let pod = deployment.spec.template.spec.as_ref();
        let name = pod.and_then(|pod| pod.service_account_name.as_deref()).unwrap_or_default();
        let known = name.is_empty()
            || name == "default"
            || permissions().any(|permission| permission.service_account_name == name)
            || accounts.iter().any(|account| account.name() == name);
        if !known {
            let entry = list.index(index);
            let path = entry.field("spec.template.spec.serviceAccountName");
            reporter.field(&csv.object, &path, format!("nobody creates the account '{name}'"));
        }
    }
}
