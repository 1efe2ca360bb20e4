//! What runs an application: a Deployment, a headless Service, a `PodDisruptionBudget`, and parts of pods that comply with the restricted Pod Security Standard and with OpenShift's restricted-v2.

use crate::labels::Instance;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, NodeAffinity,
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectFieldSelector, PodSecurityContext,
    PodSpec, PodTemplateSpec, Probe, ResourceRequirements, SeccompProfile, SecurityContext, Service,
    ServicePort, ServiceSpec, TCPSocketAction, TopologySpreadConstraint,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::collections::BTreeMap;

/// Returns a Deployment of pods with the labels of an instance. An update starts each new pod before it stops an old one.
#[must_use]
pub fn deployment(instance: &Instance<'_>, replicas: i32, pod: PodSpec) -> Deployment {
    Deployment {
        metadata: instance.metadata(),
        spec: Some(DeploymentSpec {
            replicas: Some(replicas),
            selector: select(&instance.selector()),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    max_surge: Some(IntOrString::Int(1)),
                    max_unavailable: Some(IntOrString::Int(0)),
                }),
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(instance.labels()), ..ObjectMeta::default() }),
                spec: Some(pod),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

/// Returns a headless Service, whose name resolves to the addresses of all pods of an instance, for a TCP port with a name.
#[must_use]
pub fn headless_service(instance: &Instance<'_>, port_name: &str, port: i32) -> Service {
    Service {
        metadata: instance.metadata(),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            ports: Some(vec![ServicePort {
                name: Some(port_name.to_owned()),
                port,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::String(port_name.to_owned())),
                ..ServicePort::default()
            }]),
            selector: Some(instance.selector()),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Returns a `PodDisruptionBudget` that keeps node drains from taking more than one pod of an instance at a time.
#[must_use]
pub fn disruption_budget(instance: &Instance<'_>) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: instance.metadata(),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(select(&instance.selector())),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

/// Returns a pod that runs as any user but root, with the runtime's seccomp profile.
///
/// It sets no user ID: the image does, or the cluster assigns one, as OpenShift does.
#[must_use]
pub fn restricted_pod(containers: Vec<Container>) -> PodSpec {
    PodSpec {
        containers,
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        ..PodSpec::default()
    }
}

/// Returns a container that gains no privileges and has a read-only file system.
#[must_use]
pub fn restricted_container() -> Container {
    Container { security_context: Some(restricted(None)), ..Container::default() }
}

/// Returns a container as [`restricted_container`], but not as root and with a user ID of its own, unless the cluster
/// assigns one: see [`Platform::user`](crate::context::Platform::user).
#[must_use]
pub fn container_as(run_as_user: Option<i64>) -> Container {
    let context = SecurityContext { run_as_non_root: Some(true), ..restricted(run_as_user) };
    Container { security_context: Some(context), ..Container::default() }
}

fn restricted(run_as_user: Option<i64>) -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), ..Capabilities::default() }),
        read_only_root_filesystem: Some(true),
        run_as_user,
        ..SecurityContext::default()
    }
}

/// Returns a TCP port with a name.
#[must_use]
pub fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: number,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

/// Returns an environment variable with a value.
#[must_use]
pub fn env(name: &str, value: &str) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.to_owned()), ..EnvVar::default() }
}

/// Returns an environment variable with the value of a field of the pod, such as `metadata.name`.
#[must_use]
pub fn env_from_field(name: &str, field_path: &str) -> EnvVar {
    let field = ObjectFieldSelector { field_path: field_path.to_owned(), ..ObjectFieldSelector::default() };
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() }),
        ..EnvVar::default()
    }
}

/// Returns a probe of a path of a named port.
#[must_use]
pub fn http_probe(port: &str, path: &str) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(port.to_owned()),
            ..HTTPGetAction::default()
        }),
        ..Probe::default()
    }
}

/// Returns a probe of a named TCP port.
#[must_use]
pub fn tcp_probe(port: &str) -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction {
            port: IntOrString::String(port.to_owned()),
            ..TCPSocketAction::default()
        }),
        ..Probe::default()
    }
}

/// Returns requests and limits of resources, such as `[("cpu", "10m")]`.
#[must_use]
pub fn resources(requests: &[(&str, &str)], limits: &[(&str, &str)]) -> ResourceRequirements {
    let quantities = |list: &[(&str, &str)]| -> BTreeMap<String, Quantity> {
        list.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned()))).collect()
    };
    ResourceRequirements {
        requests: Some(quantities(requests)),
        limits: Some(quantities(limits)),
        ..ResourceRequirements::default()
    }
}

/// Returns the affinity of pods that run on Linux nodes of these architectures only.
#[must_use]
pub fn linux_on(architectures: &[&str]) -> Affinity {
    let requirement = |key: &str, values: &[&str]| NodeSelectorRequirement {
        key: key.to_owned(),
        operator: "In".to_owned(),
        values: Some(values.iter().map(ToString::to_string).collect()),
    };
    let term = NodeSelectorTerm {
        match_expressions: Some(vec![
            requirement("kubernetes.io/arch", architectures),
            requirement("kubernetes.io/os", &["linux"]),
        ]),
        ..NodeSelectorTerm::default()
    };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![term],
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}

/// Returns constraints that spread the selected pods over nodes and zones, if there are enough of them.
#[must_use]
pub fn spread(selector: &BTreeMap<String, String>) -> Vec<TopologySpreadConstraint> {
    let over = |key: &str| TopologySpreadConstraint {
        label_selector: Some(select(selector)),
        max_skew: 1,
        topology_key: key.to_owned(),
        // In a small cluster, two pods on one node are better than one pod too few.
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        ..TopologySpreadConstraint::default()
    };
    vec![over("kubernetes.io/hostname"), over("topology.kubernetes.io/zone")]
}

/// Returns the selector of objects with all of these labels.
#[must_use]
pub fn select(labels: &BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels.clone()), ..LabelSelector::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restricted_pod_sets_no_user_id_so_that_openshift_can_assign_one() {
        let text = serde_json::to_string(&restricted_pod(vec![restricted_container()])).unwrap();
        for field in ["runAsUser", "runAsGroup", "fsGroup"] {
            assert!(!text.contains(field), "{text}");
        }
        assert!(text.contains("\"runAsNonRoot\":true"));
    }
}
