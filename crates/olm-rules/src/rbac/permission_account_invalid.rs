use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "permission-account-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The service account of the CSV's permissions has an invalid name.",
    impacts: &[Impact::ObjectRejected],
    help: "use lowercase letters, digits, `-` and `.`",
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
    for (field, permissions) in
        [("permissions", &strategy.permissions), ("clusterPermissions", &strategy.cluster_permissions)]
    {
        let list = path.field(field);
        for (index, permission) in permissions.iter().enumerate() {
            let path = list.index(index);
            let path = path.field("serviceAccountName");
            // permission-account-missing reports a missing name.
            if !permission.service_account_name.is_empty() {
                errors.check(&path, names::dns_subdomain(&permission.service_account_name));
            }
        }
    }
}
