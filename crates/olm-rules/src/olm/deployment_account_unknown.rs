use crate::prelude::*;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-account-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A Deployment of the CSV uses a service account that neither the CSV's permissions nor the bundle creates.",
    impacts: &[Impact::Specific(
        "The pods do not start until the service account exists: the CSV stays `Installing` and fails after a timeout.",
    )],
    help: "add permissions for the service account to the CSV, or use one that has permissions",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/registry/resolver/rbac.go",
        &["RBACForClusterServiceVersion"],
    )
    .since("0.14")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(csv) = context.csvs.first() else { return };
    let spec = &csv.typed.spec.install.spec;
    let permissions = spec.permissions.iter().chain(&spec.cluster_permissions);
    let objects = context.objects.iter().filter(|object| object.is("v1", "ServiceAccount"));
    let accounts: BTreeSet<_> = permissions
        .map(|permission| permission.service_account_name.as_str())
        .chain(objects.map(olm_model::bundle::Object::name))
        .collect();
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    for (index, deployment) in spec.deployments.iter().enumerate() {
        let pod = deployment.spec.template.spec.as_ref();
        let name = pod.and_then(|pod| pod.service_account_name.as_deref()).unwrap_or_default();
        if !name.is_empty() && name != "default" && !accounts.contains(name) {
            let entry = list.index(index);
            let path = entry.field("spec.template.spec.serviceAccountName");
            reporter.field(&csv.object, &path, format!("unknown service account `{name}`"));
        }
    }
}
