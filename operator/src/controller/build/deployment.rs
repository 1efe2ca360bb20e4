//! The Deployment that runs the servers.

use super::{label_selector, labels, metadata, selector};
use crate::controller::validate::Wanted;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, ContainerPort, NodeAffinity, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, PodSecurityContext, PodSpec, PodTemplateSpec, Probe, ResourceRequirements,
    SeccompProfile, SecurityContext, TCPSocketAction, TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// User ID of the servers unless the cluster assigns one; the tutorial's choice.
pub const USER: i64 = 1001;
/// Architectures that memcached's official image is built for.
const ARCHITECTURES: [&str; 4] = ["amd64", "arm64", "ppc64le", "s390x"];
const PORT_NAME: &str = "memcached";

pub(super) fn deployment(wanted: &Wanted, run_as_user: Option<i64>) -> Deployment {
    Deployment {
        metadata: metadata(wanted),
        spec: Some(DeploymentSpec {
            replicas: Some(wanted.size),
            selector: label_selector(wanted),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    // A server that stops loses its items: start the new one first.
                    max_surge: Some(IntOrString::Int(1)),
                    max_unavailable: Some(IntOrString::Int(0)),
                }),
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels(wanted)), ..ObjectMeta::default() }),
                spec: Some(pod(wanted, run_as_user)),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

fn pod(wanted: &Wanted, run_as_user: Option<i64>) -> PodSpec {
    PodSpec {
        affinity: Some(Affinity { node_affinity: Some(architectures()), ..Affinity::default() }),
        containers: vec![container(wanted, run_as_user)],
        // The servers do not use the API.
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        node_selector: (!wanted.node_selector.is_empty()).then(|| wanted.node_selector.clone()),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        topology_spread_constraints: Some(
            ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map(|key| spread(wanted, key)).into(),
        ),
        ..PodSpec::default()
    }
}

fn container(wanted: &Wanted, run_as_user: Option<i64>) -> Container {
    let quantity = |key: &str, value: String| (key.to_owned(), Quantity(value));
    Container {
        name: "memcached".to_owned(),
        image: Some(wanted.image.clone()),
        command: Some(vec!["memcached".to_owned()]),
        args: Some(arguments(wanted)),
        ports: Some(vec![ContainerPort {
            name: Some(PORT_NAME.to_owned()),
            container_port: wanted.port,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        liveness_probe: Some(Probe { period_seconds: Some(20), failure_threshold: Some(3), ..probe() }),
        readiness_probe: Some(Probe { period_seconds: Some(5), failure_threshold: Some(2), ..probe() }),
        startup_probe: Some(Probe { period_seconds: Some(1), failure_threshold: Some(60), ..probe() }),
        resources: Some(ResourceRequirements {
            limits: Some([quantity("memory", mebibytes(wanted.memory_mib))].into()),
            requests: Some(
                [
                    quantity("cpu", "10m".to_owned()),
                    quantity("memory", mebibytes(wanted.memory_mib.div_ceil(3))),
                ]
                .into(),
            ),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                ..Capabilities::default()
            }),
            read_only_root_filesystem: Some(true),
            run_as_non_root: Some(true),
            run_as_user,
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

/// Returns the arguments of memcached. Two thirds of the container's limit are for items; connections, hash table and
/// threads need the rest.
///
/// Today's memcached parses the tutorial's `-m=64` as 0, but not the long form.
fn arguments(wanted: &Wanted) -> Vec<String> {
    let items = (wanted.memory_mib * 2 / 3).max(1);
    let mut arguments = vec![format!("--memory-limit={items}"), "-o".into(), "modern".into(), "-v".into()];
    if wanted.port != crate::crd::DEFAULT_PORT {
        arguments.push(format!("--port={}", wanted.port));
    }
    arguments
}

/// Returns an amount of memory in the API server's notation: with the largest unit that keeps it an integer.
fn mebibytes(amount: u32) -> String {
    let (mut amount, mut units) = (amount, ["Mi", "Gi", "Ti"].into_iter().peekable());
    let mut unit = units.next().unwrap_or_default();
    while amount.is_multiple_of(1024) && units.peek().is_some() {
        amount /= 1024;
        unit = units.next().unwrap_or_default();
    }
    format!("{amount}{unit}")
}

fn probe() -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction {
            port: IntOrString::String(PORT_NAME.to_owned()),
            ..TCPSocketAction::default()
        }),
        timeout_seconds: Some(3),
        ..Probe::default()
    }
}

fn architectures() -> NodeAffinity {
    let requirement = |key: &str, values: &[&str]| NodeSelectorRequirement {
        key: key.to_owned(),
        operator: "In".to_owned(),
        values: Some(values.iter().map(ToString::to_string).collect()),
    };
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector {
            node_selector_terms: vec![NodeSelectorTerm {
                match_expressions: Some(vec![
                    requirement("kubernetes.io/arch", &ARCHITECTURES),
                    requirement("kubernetes.io/os", &["linux"]),
                ]),
                ..NodeSelectorTerm::default()
            }],
        }),
        ..NodeAffinity::default()
    }
}

fn spread(wanted: &Wanted, topology_key: &str) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        label_selector: Some(LabelSelector {
            match_labels: Some(selector(&wanted.key.name)),
            ..LabelSelector::default()
        }),
        max_skew: 1,
        topology_key: topology_key.to_owned(),
        // In a small cluster, two servers on one node are better than one server too few.
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        ..TopologySpreadConstraint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::validate::{
        tests::{IMAGE, memcached},
        validate,
    };

    #[test]
    fn the_memory_for_items_follows_the_containers_limit() {
        let mut wanted = validate(&memcached(1), IMAGE).unwrap();
        assert_eq!(arguments(&wanted), ["--memory-limit=64", "-o", "modern", "-v"]);
        wanted.memory_mib = 3072;
        assert_eq!(arguments(&wanted)[0], "--memory-limit=2048");
    }

    #[test]
    fn amounts_are_formatted_as_the_api_server_formats_them() {
        assert_eq!([96, 1024, 1536, 2048, 3 << 20].map(mebibytes), ["96Mi", "1Gi", "1536Mi", "2Gi", "3Ti"]);
    }

    #[test]
    fn another_port_is_passed_to_memcached() {
        let mut wanted = validate(&memcached(1), IMAGE).unwrap();
        wanted.port = 12000;
        assert_eq!(arguments(&wanted).last().unwrap(), "--port=12000");
    }
}
