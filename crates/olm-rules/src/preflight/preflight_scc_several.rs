use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "preflight-scc-several",
    suite: Suite::Preflight,
    severity: Severity::Warning,
    what: "The cluster permissions request several security context constraints.",
    impacts: &[Impact::Specific(
        "preflight reports only the first constraint. Its check `SecurityContextConstraintsInCSV` is optional: the result is discarded, and no certification fails because of it.",
    )],
    help: "list one SCC in resourceNames",
    sources: &[
        Source::symbols(Project::Preflight, "internal/bundle/bundle.go", &["GetSecurityContextConstraints"])
            .since("1.4"),
        Source::symbols(
            Project::Preflight,
            "internal/policy/operator/scc_info.go",
            &["securityContextConstraintsInCSV.validate"],
        )
        .since("1.4"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.clusterPermissions");
    let has = |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|item| item == wanted);
    for (index, permission) in csv.typed.spec.install.spec.cluster_permissions.iter().enumerate() {
        let entry = list.index(index);
        let rules = entry.field("rules");
        for (index, rule) in permission.rules.iter().enumerate() {
            if !has(&rule.api_groups, "security.openshift.io")
                || !has(&rule.resources, "securitycontextconstraints")
            {
                continue;
            }
            let names = rule.resource_names.as_deref().unwrap_or_default();
            if names.len() > 1 {
                let message = format!("several security context constraints: `{}`", names.join("`, `"));
                reporter.field(&csv.object, &rules.index(index).field("resourceNames"), message);
            }
            // preflight looks at the first of such rules only.
            return;
        }
    }
}
