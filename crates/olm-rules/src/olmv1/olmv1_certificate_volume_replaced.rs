use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-certificate-volume-replaced",
    suite: Suite::Olmv1,
    severity: Severity::Info,
    what: "A Deployment with webhooks has a volume for certificates that OLM v1 replaces.",
    impacts: &[Impact::Specific(
        "OLM v1 replaces volumes named `webhook-cert` and `apiservice-cert`, and volumes that are mounted where it mounts its own certificates.",
    )],
    help: "let the operator read its certificate from where OLM v1 mounts it, or rename the volume and its mount path",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/generators/generators.go",
        &["BundleCSVDeploymentGenerator"],
    )
    .since("1.6")],
    check: Check::Csv(check),
};

const NAMES: [&str; 2] = ["apiservice-cert", "webhook-cert"];
const PATHS: [&str; 2] = ["/apiserver.local.config/certificates", "/tmp/k8s-webhook-server/serving-certs"];

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let webhooks = &csv.typed.spec.webhookdefinitions;
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    for (index, deployment) in csv.typed.spec.install.spec.deployments.iter().enumerate() {
        if !webhooks.iter().any(|webhook| webhook.deployment_name == deployment.name) {
            continue;
        }
        let entry = list.index(index);
        let Some(pod) = &deployment.spec.template.spec else { continue };
        let mounted = |name: &str| {
            let mounts = pod.containers.iter().flat_map(|container| container.volume_mounts.iter().flatten());
            let mut paths = mounts.filter(|mount| mount.name == name).map(|mount| mount.mount_path.as_str());
            paths.any(|path| PATHS.contains(&path.trim_end_matches('/')))
        };
        let volumes = entry.field("spec.template.spec.volumes");
        for (index, volume) in pod.volumes.iter().flatten().enumerate() {
            if NAMES.contains(&volume.name.as_str()) || mounted(&volume.name) {
                reporter.field(
                    &csv.object,
                    &volumes.index(index),
                    format!("OLM v1 replaces volume `{}`", volume.name),
                );
            }
        }
    }
}
