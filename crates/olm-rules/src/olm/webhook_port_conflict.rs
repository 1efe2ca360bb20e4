use std::collections::{HashMap, HashSet};

use crate::prelude::*;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-port-conflict",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two webhooks or aggregated APIs of one Deployment have the same `containerPort`, but different values of `targetPort`.",
    impacts: &[
        Impact::InstallFails,
        Impact::Specific("OLM creates one Service for both, and its ports must be unique."),
    ],
    help: "use the same targetPort for both, or different values of containerPort",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/certresources.go",
        &["getServicePorts"],
    )
    .since("0.15")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    let mut taken: HashMap<(&str, i32), IntOrString> = HashMap::new();
    let deployments = csv.typed.spec.install.spec.deployments.iter();
    let deployments: HashSet<_> = deployments.map(|deployment| deployment.name.as_str()).collect();
    let port = |number: i32| if number > 0 { number } else { 443 };
    for service in &csv.typed.spec.apiservicedefinitions.owned {
        let number = port(service.container_port);
        taken.insert((service.deployment_name.as_str(), number), IntOrString::Int(number));
    }
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        let number = port(webhook.container_port);
        let target = webhook.target_port.clone().unwrap_or(IntOrString::Int(number));
        let name = webhook.deployment_name.as_str();
        if !deployments.contains(name) {
            continue;
        }
        if *taken.entry((name, number)).or_insert_with(|| target.clone()) != target {
            let entry = list.index(index);
            let message = format!("conflicting targetPort of containerPort {number} of Deployment `{name}`");
            reporter.field(&csv.object, &entry.field("targetPort"), message);
        }
    }
}
