use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "permission-to-create-crds",
    suite: Suite::GoodPractices,
    severity: Severity::Warning,
    what: "The operator may create CRDs.",
    why: "OLM does not know of CRDs that an operator creates: it cannot check, upgrade or remove them.",
    help: "put the CRDs into the bundle, and depend on other operators by dependencies.yaml",
    source: "operator-framework/api, pkg/validation/internal/good_practices.go (validateRBACForCRDsWith)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let strategy = root.field("spec.install.spec");
    let spec = &csv.typed.spec.install.spec;
    let any = |list: Option<&Vec<String>>, wanted: &[&str]| {
        list.into_iter().flatten().any(|item| wanted.contains(&item.as_str()))
    };
    for (field, permissions) in
        [("permissions", &spec.permissions), ("clusterPermissions", &spec.cluster_permissions)]
    {
        let list = strategy.field(field);
        for (index, permission) in permissions.iter().enumerate() {
            let entry = list.index(index);
            let rules = entry.field("rules");
            for (index, rule) in permission.rules.iter().enumerate() {
                if any(rule.api_groups.as_ref(), &["apiextensions.k8s.io"])
                    && any(rule.resources.as_ref(), &["customresourcedefinitions", "*", "[*]"])
                    && any(Some(&rule.verbs), &["create", "*", "[*]", "patch"])
                {
                    reporter.field(&csv.object, &rules.index(index), "the operator may create CRDs");
                }
            }
        }
    }
}
