use crate::prelude::*;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-service-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "OLM cannot derive the name of a Service from the name of a Deployment that serves a webhook or an aggregated API.",
    impacts: &[
        Impact::ServiceRejected,
        Impact::Specific(
            "OLM appends `-service` to the name; the name of a Service is a DNS label of at most 63 characters.",
        ),
    ],
    help: "use a Deployment name of at most 55 characters that starts with a letter and contains no dots",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/certresources.go",
        &["ServiceName"],
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    let spec = &csv.typed.spec;
    let webhooks = spec.webhookdefinitions.iter().map(|webhook| webhook.deployment_name.as_str());
    let services = spec.apiservicedefinitions.owned.iter().map(|service| service.deployment_name.as_str());
    let with_service: BTreeSet<_> = webhooks.chain(services).collect();
    for (index, deployment) in spec.install.spec.deployments.iter().enumerate() {
        let name = deployment.name.as_str();
        let has_service = with_service.contains(name);
        let letter = name.starts_with(|first: char| first.is_ascii_lowercase());
        if has_service && !name.is_empty() && (name.len() > 55 || name.contains('.') || !letter) {
            let entry = list.index(index);
            let message = format!(
                "invalid Service name `{name}-service`: must be a DNS label of at most 63 characters that starts with a letter"
            );
            reporter.field(&csv.object, &entry.field("name"), message);
        }
    }
}
