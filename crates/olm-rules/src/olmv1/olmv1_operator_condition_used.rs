use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-operator-condition-used",
    suite: Suite::Olmv1,
    severity: Severity::Warning,
    what: "The operator has permissions for `OperatorCondition`s.",
    impacts: &[Impact::Specific(
        "OLM v1 has no `OperatorCondition`, so an operator that blocks its own upgrade through one is upgraded anyway.",
    )],
    help: "OLM v1 ignores OperatorConditions: make sure that the operator survives an upgrade at any time",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/operators/operatorcondition_controller.go",
        &["OperatorConditionReconciler"],
    )
    .since("0.18")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let strategy = &csv.typed.spec.install.spec;
    for (field, permissions) in [
        ("spec.install.spec.clusterPermissions", &strategy.cluster_permissions),
        ("spec.install.spec.permissions", &strategy.permissions),
    ] {
        let list = root.field(field);
        for (index, granted) in permissions.iter().enumerate() {
            let entry = list.index(index);
            let rules = entry.field("rules");
            for (index, rule) in granted.rules.iter().enumerate() {
                let has = |list: &Option<Vec<String>>, wanted: &str| {
                    list.iter().flatten().any(|item| item == wanted)
                };
                let resource = ["operatorconditions", "operatorconditions/status"];
                if has(&rule.api_groups, "operators.coreos.com")
                    && resource.iter().any(|resource| has(&rule.resources, resource))
                {
                    let message = "permission for `operatorconditions.operators.coreos.com`, which OLM v1 does not have";
                    reporter.field(&csv.object, &rules.index(index), message);
                }
            }
        }
    }
}
