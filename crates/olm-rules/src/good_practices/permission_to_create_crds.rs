use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "permission-to-create-crds",
    suite: Suite::GoodPractices,
    severity: Severity::Warning,
    what: "The operator has permission to create CRDs.",
    impacts: &[Impact::Specific(
        "OLM does not track CRDs that an operator creates: it cannot validate, upgrade or remove them.",
    )],
    help: "add the CRDs to the bundle, and declare dependencies on other operators in metadata/dependencies.yaml",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/good_practices.go",
        &["validateRBACForCRDsWith"],
    )
    .since("0.15")],
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
                    reporter.field(
                        &csv.object,
                        &rules.index(index),
                        "the operator has permission to create CRDs",
                    );
                }
            }
        }
    }
}
