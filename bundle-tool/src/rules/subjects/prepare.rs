//! Preparation of a Deployment before validation: OLM's additions, defaults, removal of the fields of disabled features.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/core/v1/defaults.go`, `pkg/apis/apps/v1/defaults.go` and `pkg/api/pod/util.go`
//! (`DropDisabledTemplateFields`) with the feature gates as 1.34 has them.

use k8s_openapi::api::apps::v1::DeploymentSpec;
use k8s_openapi::api::core::v1::{Container, Lifecycle, LifecycleHandler, PodSpec, Probe, Volume};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::model::csv::StrategyDeployment;

/// A Deployment's spec as it is validated.
#[derive(Debug, Clone)]
pub(in crate::rules) struct Prepared {
    /// The spec with defaults, without the fields of disabled features.
    pub(in crate::rules) spec: DeploymentSpec,
    /// The spec of its pods.
    pub(in crate::rules) pod: PodSpec,
}

impl Prepared {
    /// Prepares a Deployment of the install strategy as the API server does.
    #[must_use]
    pub(in crate::rules) fn new(written: &StrategyDeployment) -> Self {
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
        prepare_pod(&mut pod);
        Self { spec, pod }
    }
}

fn prepare_pod(pod: &mut PodSpec) {
    default(&mut pod.dns_policy, "ClusterFirst");
    default(&mut pod.restart_policy, "Always");
    pod.termination_grace_period_seconds.get_or_insert(30);
    // HostnameOverride is disabled.
    pod.hostname_override = None;
    for volume in pod.volumes.iter_mut().flatten() {
        prepare_volume(volume);
    }
    for container in pod.containers.iter_mut().chain(pod.init_containers.iter_mut().flatten()) {
        prepare_container(container);
    }
    for container in pod.init_containers.iter_mut().flatten() {
        // ContainerRestartRules is disabled: only sidecars keep their own policy.
        container.restart_policy = container.restart_policy.take().filter(|policy| policy == "Always");
    }
    for container in &mut pod.containers {
        container.restart_policy = None;
    }
}

fn prepare_container(container: &mut Container) {
    default(&mut container.termination_message_policy, "File");
    // The default depends on the tag, but is valid either way.
    default(&mut container.image_pull_policy, "IfNotPresent");
    for port in container.ports.iter_mut().flatten() {
        default(&mut port.protocol, "TCP");
    }
    for variable in container.env.iter_mut().flatten() {
        if let Some(source) = &mut variable.value_from {
            // EnvFiles is disabled.
            source.file_key_ref = None;
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
        // ContainerStopSignals is disabled; a lifecycle with nothing else is dropped.
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

fn prepare_volume(volume: &mut Volume) {
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
        // ClusterTrustBundleProjection and PodCertificateRequest are disabled.
        source.cluster_trust_bundle = None;
        source.pod_certificate = None;
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
