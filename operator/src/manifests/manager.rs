//! The manager: its namespace, service account and Deployment.

use super::{Naming, Options, observe, webhook};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, Namespace,
    ObjectFieldSelector, PodSecurityContext, PodSpec, PodTemplateSpec, Probe, ResourceRequirements,
    SeccompProfile, SecurityContext, ServiceAccount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::collections::BTreeMap;

/// Port of `/healthz` and `/readyz`.
const HEALTH_PORT: i32 = 8081;

/// Returns the manager's namespace.
pub(crate) fn namespace(naming: Naming) -> Namespace {
    let mut metadata = naming.cluster("system");
    if let Some(labels) = &mut metadata.labels {
        // The manager and its servers comply with the restricted Pod Security Standard.
        labels.insert("pod-security.kubernetes.io/enforce".into(), "restricted".into());
    }
    Namespace { metadata, ..Namespace::default() }
}

/// Returns the service account of the manager's pods.
pub(crate) fn service_account(naming: Naming) -> ServiceAccount {
    ServiceAccount { metadata: naming.namespaced("controller-manager"), ..ServiceAccount::default() }
}

/// Returns the labels of the manager's pods.
pub(crate) fn selector() -> BTreeMap<String, String> {
    [("app.kubernetes.io/name", "memcached-operator"), ("control-plane", "controller-manager")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// Returns the manager's Deployment.
pub(crate) fn deployment(naming: Naming, options: &Options) -> Deployment {
    let labels = selector();
    let mut metadata = naming.namespaced("controller-manager");
    metadata.labels.get_or_insert_default().extend(labels.clone());
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            selector: LabelSelector { match_labels: Some(labels.clone()), ..LabelSelector::default() },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    annotations: Some(
                        [("kubectl.kubernetes.io/default-container".to_owned(), "manager".to_owned())].into(),
                    ),
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container(options)],
                    security_context: Some(PodSecurityContext {
                        run_as_non_root: Some(true),
                        // No user ID: the image sets one, and OpenShift assigns one from the namespace's range.
                        seccomp_profile: Some(SeccompProfile {
                            type_: "RuntimeDefault".to_owned(),
                            ..SeccompProfile::default()
                        }),
                        ..PodSecurityContext::default()
                    }),
                    service_account_name: Some(naming.name("controller-manager")),
                    termination_grace_period_seconds: Some(10),
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

fn container(options: &Options) -> Container {
    let quantities = |cpu: &str, memory: &str| {
        [("cpu".to_owned(), Quantity(cpu.to_owned())), ("memory".to_owned(), Quantity(memory.to_owned()))]
            .into()
    };
    Container {
        name: "manager".to_owned(),
        image: Some(options.image.clone()),
        command: Some(vec!["/memcached-operator".to_owned()]),
        args: Some(vec![
            "run".to_owned(),
            "--leader-elect".to_owned(),
            format!("--health-probe-bind-address=:{HEALTH_PORT}"),
            format!("--metrics-bind-address=:{}", observe::METRICS_PORT),
            format!("--webhook-bind-address=:{}", webhook::PORT),
        ]),
        env: Some(vec![
            env("MEMCACHED_IMAGE", &options.operand_image),
            env_from_field("POD_NAME", "metadata.name"),
            env_from_field("POD_NAMESPACE", "metadata.namespace"),
            // OLM sets the annotation to the OperatorGroup's namespaces; without OLM it is missing, which means all.
            env_from_field("WATCH_NAMESPACE", "metadata.annotations['olm.targetNamespaces']"),
        ]),
        ports: Some(vec![
            port("health", HEALTH_PORT),
            port("metrics", observe::METRICS_PORT),
            port("webhook-server", webhook::PORT),
        ]),
        liveness_probe: Some(probe("/healthz", 15, 20)),
        readiness_probe: Some(probe("/readyz", 1, 5)),
        resources: Some(ResourceRequirements {
            limits: Some(quantities("500m", "128Mi")),
            requests: Some(quantities("10m", "32Mi")),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                ..Capabilities::default()
            }),
            read_only_root_filesystem: Some(true),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

fn env(name: &str, value: &str) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.to_owned()), ..EnvVar::default() }
}

fn env_from_field(name: &str, field_path: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: field_path.to_owned(),
                ..ObjectFieldSelector::default()
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    }
}

fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: number,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

fn probe(path: &str, delay: i32, period: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String("health".to_owned()),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: Some(delay),
        period_seconds: Some(period),
        ..Probe::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_sets_no_user_id_so_that_openshift_can_assign_one() {
        let options = Options { image: "i:1".into(), operand_image: "m:1".into() };
        let pod = deployment(Naming::Complete, &options).spec.unwrap().template.spec.unwrap();
        let text = serde_json::to_string(&pod).unwrap();
        for field in ["runAsUser", "runAsGroup", "fsGroup"] {
            assert!(!text.contains(field), "{text}");
        }
        assert_eq!(pod.security_context.unwrap().run_as_non_root, Some(true));
    }
}
