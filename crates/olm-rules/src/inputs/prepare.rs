//! Preparation of a Deployment before validation: OLM's additions, defaults, removal of the fields of disabled features.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/core/v1/defaults.go`, `pkg/apis/apps/v1/defaults.go` and `pkg/api/pod/util.go`
//! (`DropDisabledTemplateFields`), with the feature gates as each version has them (`pkg/features/kube_features.go`): a field is kept
//! since the version that enables its feature by default. A version that does not know a field at all drops it, too.

use k8s_openapi::api::apps::v1::DeploymentSpec;
use k8s_openapi::api::core::v1::{Container, Lifecycle, LifecycleHandler, PodSpec, Probe, Volume};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubernetes_cel::Server;

use olm_model::csv::StrategyDeployment;

/// A Deployment's spec as it is validated.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// The spec with defaults, without the fields of disabled features.
    pub(crate) spec: DeploymentSpec,
    /// The spec of its pods.
    pub(crate) pod: PodSpec,
    /// Whether volumes of type `image` are kept.
    pub(crate) has_image_volumes: bool,
}

/// The first versions of Kubernetes that enable a feature by default. Earlier versions drop its fields.
pub(crate) mod feature {
    pub(crate) const CONTAINER_RESTART_RULES: u16 = 35;
    pub(crate) const CLUSTER_TRUST_BUNDLE_PROJECTION: u16 = 37;
    pub(crate) const DYNAMIC_RESOURCE_ALLOCATION: u16 = 34;
    pub(crate) const ENV_FILES: u16 = 35;
    pub(crate) const HOSTNAME_OVERRIDE: u16 = 35;
    pub(crate) const IMAGE_VOLUME: u16 = 35;
    pub(crate) const IN_PLACE_POD_VERTICAL_SCALING: u16 = 33;
    pub(crate) const MATCH_LABEL_KEYS_IN_POD_AFFINITY: u16 = 31;
    pub(crate) const POD_CERTIFICATE_REQUEST: u16 = 37;
    pub(crate) const POD_LEVEL_RESOURCES: u16 = 34;
    pub(crate) const PROC_MOUNT_TYPE: u16 = 33;
    pub(crate) const RECURSIVE_READ_ONLY_MOUNTS: u16 = 31;
    pub(crate) const SE_LINUX_CHANGE_POLICY: u16 = 33;
    pub(crate) const SUPPLEMENTAL_GROUPS_POLICY: u16 = 33;
    pub(crate) const USER_NAMESPACES_SUPPORT: u16 = 33;
}

/// The first version that knows restart policies of containers other than sidecars.
pub(crate) const RESTART_POLICIES: u16 = 34;
/// The first version that knows volumes of type `image`.
const IMAGE_VOLUMES: u16 = 31;

/// Drops the value of a field if the server is older than `1.minor`, which enables its feature. Asks only if the field is set.
fn drop_before<T>(value: &mut Option<T>, server: &Server, minor: u16) {
    if value.is_some() && !server.since(minor) {
        *value = None;
    }
}

impl Prepared {
    /// Prepares a Deployment of the install strategy as the API server does.
    #[must_use]
    pub(crate) fn new(written: &StrategyDeployment, server: &Server) -> Self {
        let mut spec = written.spec.clone();
        let mut pod = spec.template.spec.take().unwrap_or_default();
        spec.replicas.get_or_insert(1);
        // OLM always sets one old ReplicaSet.
        spec.revision_history_limit = Some(1);
        spec.progress_deadline_seconds.get_or_insert(600);
        let strategy = spec.strategy.get_or_insert_default();
        let kind = strategy.type_.get_or_insert_default();
        if kind.is_empty() {
            "RollingUpdate".clone_into(kind);
        }
        if kind == "RollingUpdate" {
            let update = strategy.rolling_update.get_or_insert_default();
            let quarter = || IntOrString::String("25%".to_owned());
            update.max_unavailable.get_or_insert_with(quarter);
            update.max_surge.get_or_insert_with(quarter);
        }
        prepare_pod(&mut pod, server);
        let has_images = pod.volumes.iter().flatten().any(|volume| volume.image.is_some());
        let has_image_volumes = has_images && server.since(feature::IMAGE_VOLUME);
        Self { spec, pod, has_image_volumes }
    }
}

fn prepare_pod(pod: &mut PodSpec, server: &Server) {
    default(&mut pod.dns_policy, "ClusterFirst");
    default(&mut pod.restart_policy, "Always");
    pod.termination_grace_period_seconds.get_or_insert(30);
    drop_before(&mut pod.hostname_override, server, feature::HOSTNAME_OVERRIDE);
    drop_before(&mut pod.host_users, server, feature::USER_NAMESPACES_SUPPORT);
    drop_before(&mut pod.resources, server, feature::POD_LEVEL_RESOURCES);
    drop_before(&mut pod.resource_claims, server, feature::DYNAMIC_RESOURCE_ALLOCATION);
    if let Some(security) = &mut pod.security_context {
        drop_before(&mut security.supplemental_groups_policy, server, feature::SUPPLEMENTAL_GROUPS_POLICY);
        drop_before(&mut security.se_linux_change_policy, server, feature::SE_LINUX_CHANGE_POLICY);
    }
    if let Some(affinity) = &mut pod.affinity {
        let near = affinity.pod_affinity.as_mut().map(|near| {
            (
                &mut near.required_during_scheduling_ignored_during_execution,
                &mut near.preferred_during_scheduling_ignored_during_execution,
            )
        });
        let apart = affinity.pod_anti_affinity.as_mut().map(|apart| {
            (
                &mut apart.required_during_scheduling_ignored_during_execution,
                &mut apart.preferred_during_scheduling_ignored_during_execution,
            )
        });
        for (required, preferred) in near.into_iter().chain(apart) {
            let preferred = preferred.iter_mut().flatten().map(|term| &mut term.pod_affinity_term);
            for term in required.iter_mut().flatten().chain(preferred) {
                for keys in [&mut term.match_label_keys, &mut term.mismatch_label_keys] {
                    drop_before(keys, server, feature::MATCH_LABEL_KEYS_IN_POD_AFFINITY);
                }
            }
        }
    }
    for volume in pod.volumes.iter_mut().flatten() {
        prepare_volume(volume, server);
    }
    for container in pod.containers.iter_mut().chain(pod.init_containers.iter_mut().flatten()) {
        prepare_container(container, server);
    }
    // A sidecar keeps its policy in all versions. Versions that do not know the feature reject other policies.
    let others = pod
        .init_containers
        .iter_mut()
        .flatten()
        .filter(|one| one.restart_policy.as_deref() != Some("Always"));
    for container in others.chain(&mut pod.containers) {
        if container.restart_policy.is_some() && server.since(RESTART_POLICIES) {
            drop_before(&mut container.restart_policy, server, feature::CONTAINER_RESTART_RULES);
        }
    }
}

fn prepare_container(container: &mut Container, server: &Server) {
    drop_before(&mut container.restart_policy_rules, server, feature::CONTAINER_RESTART_RULES);
    drop_before(&mut container.resize_policy, server, feature::IN_PLACE_POD_VERTICAL_SCALING);
    if let Some(resources) = &mut container.resources {
        drop_before(&mut resources.claims, server, feature::DYNAMIC_RESOURCE_ALLOCATION);
    }
    for mount in container.volume_mounts.iter_mut().flatten() {
        drop_before(&mut mount.recursive_read_only, server, feature::RECURSIVE_READ_ONLY_MOUNTS);
    }
    if let Some(security) = &mut container.security_context {
        drop_before(&mut security.proc_mount, server, feature::PROC_MOUNT_TYPE);
    }
    default(&mut container.termination_message_policy, "File");
    // The default depends on the tag, but is valid either way.
    default(&mut container.image_pull_policy, "IfNotPresent");
    for port in container.ports.iter_mut().flatten() {
        default(&mut port.protocol, "TCP");
    }
    for variable in container.env.iter_mut().flatten() {
        if let Some(source) = &mut variable.value_from {
            drop_before(&mut source.file_key_ref, server, feature::ENV_FILES);
            if let Some(field) = &mut source.field_ref {
                default(&mut field.api_version, "v1");
            }
        }
    }
    let probes =
        [&mut container.liveness_probe, &mut container.readiness_probe, &mut container.startup_probe];
    for probe in probes.into_iter().flatten() {
        prepare_probe(probe);
    }
    if let Some(lifecycle) = &mut container.lifecycle {
        // ContainerStopSignals is disabled in all versions; a lifecycle with nothing else is dropped.
        if lifecycle.stop_signal.take().is_some() && *lifecycle == Lifecycle::default() {
            container.lifecycle = None;
        }
    }
    if let Some(lifecycle) = &mut container.lifecycle {
        for handler in [&mut lifecycle.post_start, &mut lifecycle.pre_stop].into_iter().flatten() {
            prepare_handler(handler);
        }
    }
}

fn prepare_probe(probe: &mut Probe) {
    for (value, default) in [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ] {
        if value.unwrap_or_default() == 0 {
            *value = Some(default);
        }
    }
    if let Some(http) = &mut probe.http_get {
        default(&mut http.path, "/");
        default(&mut http.scheme, "HTTP");
    }
}

fn prepare_handler(handler: &mut LifecycleHandler) {
    if let Some(http) = &mut handler.http_get {
        default(&mut http.path, "/");
        default(&mut http.scheme, "HTTP");
    }
}

fn prepare_volume(volume: &mut Volume, server: &Server) {
    drop_before(&mut volume.image, server, IMAGE_VOLUMES);
    let bare = Volume { name: volume.name.clone(), ..Volume::default() };
    if *volume == bare {
        volume.empty_dir.get_or_insert_default();
    }
    if let Some(disk) = &mut volume.azure_disk {
        disk.caching_mode.get_or_insert_with(|| "ReadWrite".to_owned());
        disk.kind.get_or_insert_with(|| "Shared".to_owned());
    }
    for item in volume.downward_api.iter_mut().flat_map(|source| source.items.iter_mut().flatten()) {
        if let Some(field) = &mut item.field_ref {
            default(&mut field.api_version, "v1");
        }
    }
    for source in volume.projected.iter_mut().flat_map(|source| source.sources.iter_mut().flatten()) {
        drop_before(&mut source.cluster_trust_bundle, server, feature::CLUSTER_TRUST_BUNDLE_PROJECTION);
        drop_before(&mut source.pod_certificate, server, feature::POD_CERTIFICATE_REQUEST);
        if let Some(token) = &mut source.service_account_token {
            token.expiration_seconds.get_or_insert(3600);
        }
        for item in source.downward_api.iter_mut().flat_map(|source| source.items.iter_mut().flatten()) {
            if let Some(field) = &mut item.field_ref {
                default(&mut field.api_version, "v1");
            }
        }
    }
}

/// Sets a string that is missing or empty.
fn default(value: &mut Option<String>, default: &str) {
    if value.as_ref().is_none_or(String::is_empty) {
        *value = Some(default.to_owned());
    }
}
