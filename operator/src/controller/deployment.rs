//! The Deployment that runs the servers.

use super::validate::Wanted;
use crate::api::DEFAULT_PORT;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec, Probe, SecurityContext};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use operator_runtime::workload::{
    linux_on, mebibytes, port, resources, restricted_container, restricted_pod, select, spread, tcp_probe,
};

/// User ID of the servers unless the cluster assigns one; the tutorial's choice.
pub const USER: i64 = 1001;
/// Architectures that memcached's official image is built for.
const ARCHITECTURES: [&str; 4] = ["amd64", "arm64", "ppc64le", "s390x"];
const PORT_NAME: &str = "memcached";

pub(super) fn deployment(wanted: &Wanted, run_as_user: Option<i64>) -> Deployment {
    Deployment {
        metadata: wanted.metadata(),
        spec: Some(DeploymentSpec {
            replicas: Some(wanted.size),
            selector: select(&wanted.selector()),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    // A server that stops loses its items: start the new one first.
                    max_surge: Some(IntOrString::Int(1)),
                    max_unavailable: Some(IntOrString::Int(0)),
                }),
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(wanted.labels()), ..ObjectMeta::default() }),
                spec: Some(pod(wanted, run_as_user)),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

fn pod(wanted: &Wanted, run_as_user: Option<i64>) -> PodSpec {
    PodSpec {
        affinity: Some(linux_on(&ARCHITECTURES)),
        // The servers do not use the API.
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        node_selector: (!wanted.node_selector.is_empty()).then(|| wanted.node_selector.clone()),
        topology_spread_constraints: Some(spread(&wanted.selector())),
        ..restricted_pod(vec![container(wanted, run_as_user)])
    }
}

fn container(wanted: &Wanted, run_as_user: Option<i64>) -> Container {
    let probe = |period: i32, failures: i32| Probe {
        period_seconds: Some(period),
        failure_threshold: Some(failures),
        timeout_seconds: Some(3),
        ..tcp_probe(PORT_NAME)
    };
    let restricted = restricted_container();
    Container {
        name: "memcached".to_owned(),
        image: Some(wanted.image.clone()),
        command: Some(vec!["memcached".to_owned()]),
        args: Some(arguments(wanted)),
        ports: Some(vec![port(PORT_NAME, wanted.port)]),
        liveness_probe: Some(probe(20, 3)),
        readiness_probe: Some(probe(5, 2)),
        startup_probe: Some(probe(1, 60)),
        resources: Some(resources(
            &[("cpu", "10m"), ("memory", &mebibytes(wanted.memory_mib.div_ceil(3)))],
            &[("memory", &mebibytes(wanted.memory_mib))],
        )),
        security_context: restricted.security_context.clone().map(|context| SecurityContext {
            run_as_non_root: Some(true),
            run_as_user,
            ..context
        }),
        ..restricted
    }
}

/// Returns the arguments of memcached. Two thirds of the container's limit are for items; connections, hash table and
/// threads need the rest.
///
/// Today's memcached parses the tutorial's `-m=64` as 0, but not the long form.
fn arguments(wanted: &Wanted) -> Vec<String> {
    let items = (wanted.memory_mib * 2 / 3).max(1);
    let mut arguments = vec![format!("--memory-limit={items}"), "-o".into(), "modern".into(), "-v".into()];
    if wanted.port != DEFAULT_PORT {
        arguments.push(format!("--port={}", wanted.port));
    }
    arguments
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
    fn another_port_is_passed_to_memcached() {
        let mut wanted = validate(&memcached(1), IMAGE).unwrap();
        wanted.port = 12000;
        assert_eq!(arguments(&wanted).last().unwrap(), "--port=12000");
    }
}
