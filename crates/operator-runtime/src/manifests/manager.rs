//! The manager: its namespace, service account and Deployment.

use super::naming::Naming;
use super::{observe, webhook};
use crate::operator::Operator;
use crate::workload::{
    env, env_from_field, http_probe, port, resources, restricted_container, restricted_pod, select,
};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, Namespace, PodSpec, PodTemplateSpec, Probe, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Port of `/healthz` and `/readyz`.
const HEALTH_PORT: i32 = 8081;

/// Returns the manager's namespace.
pub(crate) fn namespace(naming: Naming) -> Namespace {
    let mut metadata = naming.cluster("system");
    if let Some(labels) = &mut metadata.labels {
        // The manager, and what it creates, complies with the restricted Pod Security Standard.
        labels.insert("pod-security.kubernetes.io/enforce".into(), "restricted".into());
    }
    Namespace { metadata, ..Namespace::default() }
}

/// Returns the service account of the manager's pods.
pub(crate) fn service_account(naming: Naming) -> ServiceAccount {
    ServiceAccount { metadata: naming.namespaced("controller-manager"), ..ServiceAccount::default() }
}

/// Returns the manager's Deployment.
pub(crate) fn deployment(naming: Naming, operator: &Operator, image: &str) -> Deployment {
    let labels = naming.selector();
    let mut metadata = naming.namespaced("controller-manager");
    metadata.labels.get_or_insert_default().extend(labels.clone());
    let mut deployment = Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            selector: select(&labels),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    annotations: Some(
                        [("kubectl.kubernetes.io/default-container".to_owned(), "manager".to_owned())].into(),
                    ),
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    service_account_name: Some(naming.name("controller-manager")),
                    termination_grace_period_seconds: Some(10),
                    ..restricted_pod(vec![container(operator, image)])
                }),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    };
    for adjust in &operator.adjustments {
        adjust(&mut deployment);
    }
    deployment
}

fn container(operator: &Operator, image: &str) -> Container {
    let mut args = vec![
        "run".to_owned(),
        "--leader-elect".to_owned(),
        format!("--health-probe-bind-address=:{HEALTH_PORT}"),
        format!("--metrics-bind-address=:{}", observe::METRICS_PORT),
    ];
    let mut ports = vec![port("health", HEALTH_PORT), port("metrics", observe::METRICS_PORT)];
    if !operator.webhooks.is_empty() {
        args.push(format!("--webhook-bind-address=:{}", webhook::PORT));
        ports.push(port("webhook-server", webhook::PORT));
    }
    args.extend(operator.arguments.iter().cloned());
    let own = operator.environment.iter().map(|(name, value)| env(name, value));
    let common = [
        env_from_field("POD_NAME", "metadata.name"),
        env_from_field("POD_NAMESPACE", "metadata.namespace"),
        // OLM sets the annotation to the OperatorGroup's namespaces; without OLM it is missing, which means all.
        env_from_field("WATCH_NAMESPACE", "metadata.annotations['olm.targetNamespaces']"),
    ];
    let probe = |path, delay, period| Probe {
        initial_delay_seconds: Some(delay),
        period_seconds: Some(period),
        ..http_probe("health", path)
    };
    Container {
        name: "manager".to_owned(),
        image: Some(image.to_owned()),
        command: Some(vec![format!("/{}", operator.identity.name)]),
        args: Some(args),
        env: Some(own.chain(common).collect()),
        ports: Some(ports),
        liveness_probe: Some(probe("/healthz", 15, 20)),
        readiness_probe: Some(probe("/readyz", 1, 5)),
        resources: Some(resources(
            &[("cpu", "10m"), ("memory", "32Mi")],
            &[("cpu", "500m"), ("memory", "128Mi")],
        )),
        ..restricted_container()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::naming::Form;
    use crate::testing::sample::{IDENTITY, operator};

    #[test]
    fn manager_sets_no_user_id_so_that_openshift_can_assign_one() {
        let naming = Naming { identity: IDENTITY, form: Form::Complete };
        let pod = deployment(naming, &operator(), "i:1").spec.unwrap().template.spec.unwrap();
        let text = serde_json::to_string(&pod).unwrap();
        for field in ["runAsUser", "runAsGroup", "fsGroup"] {
            assert!(!text.contains(field), "{text}");
        }
        assert_eq!(pod.security_context.unwrap().run_as_non_root, Some(true));
    }
}
