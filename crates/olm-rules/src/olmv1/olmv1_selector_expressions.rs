use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-selector-expressions",
    suite: Suite::Olmv1,
    severity: Severity::Warning,
    what: "A Deployment with webhooks selects its pods with `matchExpressions`.",
    impacts: &[Impact::Specific(
        "OLM v1 copies only `matchLabels` to the Service of the webhooks, which then selects pods of other Deployments too, or none.",
    )],
    help: "select the pods with matchLabels",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/generators/generators.go",
        &["BundleDeploymentServiceResourceGenerator"],
    )
    .since("1.6")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    let spec = &csv.typed.spec;
    for (index, deployment) in spec.install.spec.deployments.iter().enumerate() {
        let has_webhook =
            spec.webhookdefinitions.iter().any(|webhook| webhook.deployment_name == deployment.name);
        let expressions = deployment.spec.selector.match_expressions.as_deref().unwrap_or_default();
        if has_webhook && !expressions.is_empty() {
            let entry = list.index(index);
            let path = entry.field("spec.selector.matchExpressions");
            reporter.field(
                &csv.object,
                &path,
                "OLM v1 does not copy matchExpressions to the selector of the webhook Service",
            );
        }
    }
}
