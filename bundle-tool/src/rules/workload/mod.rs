//! Deployments that OLM creates from the CSV's install strategy, and the pods that these create.
//!
//! The API server sets defaults and drops the fields of disabled features before it validates; [`Prepared`] does the
//! same once, and each rule validates its part. Sources: `k8s.io/kubernetes/pkg/apis/{core,apps}/validation` at
//! 1.34, and how OLM creates a Deployment from the strategy: `pkg/controller/install/deployment.go`.

mod claims;
mod deployment_count_negative;
mod deployment_deadline_too_short;
mod deployment_label_invalid;
mod deployment_name_invalid;
mod deployment_selector_invalid;
mod deployment_selector_mismatch;
mod deployment_strategy_invalid;
mod handlers;
mod pod_active_deadline_unsupported;
mod pod_affinity_invalid;
mod pod_annotation_field_mismatch;
mod pod_annotation_invalid;
mod pod_annotation_value_invalid;
mod pod_apparmor_profile_invalid;
mod pod_container_missing;
mod pod_container_name_duplicate;
mod pod_container_name_invalid;
mod pod_dns_invalid;
mod pod_env_from_invalid;
mod pod_env_name_invalid;
mod pod_env_source_invalid;
mod pod_ephemeral_container_forbidden;
mod pod_ephemeral_volume_invalid;
mod pod_gate_invalid;
mod pod_host_alias_invalid;
mod pod_host_port_mismatch;
mod pod_host_users_conflict;
mod pod_identity_invalid;
mod pod_image_missing;
mod pod_image_pull_policy_invalid;
mod pod_init_container_field_forbidden;
mod pod_label_invalid;
mod pod_level_resources_invalid;
mod pod_lifecycle_invalid;
mod pod_name_reference_invalid;
mod pod_node_affinity_invalid;
mod pod_node_selector_invalid;
mod pod_os_field_forbidden;
mod pod_os_invalid;
mod pod_overhead_invalid;
mod pod_port_duplicate;
mod pod_port_invalid;
mod pod_preemption_policy_invalid;
mod pod_privilege_conflict;
mod pod_probe_invalid;
mod pod_process_namespace_conflict;
mod pod_projected_source_invalid;
mod pod_resize_policy_invalid;
mod pod_resource_claim_invalid;
mod pod_resource_invalid;
mod pod_resource_request_exceeds_limit;
mod pod_restart_policy_unsupported;
mod pod_seccomp_profile_invalid;
mod pod_security_policy_invalid;
mod pod_sysctl_invalid;
mod pod_termination_message_invalid;
mod pod_toleration_invalid;
mod pod_topology_spread_invalid;
mod pod_volume_device_invalid;
mod pod_volume_file_invalid;
mod pod_volume_mount_invalid;
mod pod_volume_mount_unknown;
mod pod_volume_name_invalid;
mod pod_volume_source_invalid;
mod pod_volume_source_several;
mod pod_windows_options_invalid;
mod prepare;
mod resources;
mod sources;
mod template;
mod tolerations;
mod volumes;

use super::Rule;
use super::context::Csv;
use crate::model::Object;
use crate::model::csv::StrategyDeployment;
use crate::model::yaml::Path;

pub use prepare::Prepared;
pub use template::{PodTemplate, Role};

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &deployment_count_negative::RULE,
    &deployment_deadline_too_short::RULE,
    &deployment_label_invalid::RULE,
    &deployment_name_invalid::RULE,
    &deployment_selector_invalid::RULE,
    &deployment_selector_mismatch::RULE,
    &deployment_strategy_invalid::RULE,
    &pod_active_deadline_unsupported::RULE,
    &pod_affinity_invalid::RULE,
    &pod_annotation_field_mismatch::RULE,
    &pod_annotation_invalid::RULE,
    &pod_annotation_value_invalid::RULE,
    &pod_apparmor_profile_invalid::RULE,
    &pod_container_missing::RULE,
    &pod_container_name_duplicate::RULE,
    &pod_container_name_invalid::RULE,
    &pod_dns_invalid::RULE,
    &pod_env_from_invalid::RULE,
    &pod_env_name_invalid::RULE,
    &pod_env_source_invalid::RULE,
    &pod_ephemeral_container_forbidden::RULE,
    &pod_ephemeral_volume_invalid::RULE,
    &pod_gate_invalid::RULE,
    &pod_host_alias_invalid::RULE,
    &pod_host_port_mismatch::RULE,
    &pod_host_users_conflict::RULE,
    &pod_identity_invalid::RULE,
    &pod_image_missing::RULE,
    &pod_image_pull_policy_invalid::RULE,
    &pod_init_container_field_forbidden::RULE,
    &pod_label_invalid::RULE,
    &pod_level_resources_invalid::RULE,
    &pod_lifecycle_invalid::RULE,
    &pod_name_reference_invalid::RULE,
    &pod_node_affinity_invalid::RULE,
    &pod_node_selector_invalid::RULE,
    &pod_os_field_forbidden::RULE,
    &pod_os_invalid::RULE,
    &pod_overhead_invalid::RULE,
    &pod_port_duplicate::RULE,
    &pod_port_invalid::RULE,
    &pod_preemption_policy_invalid::RULE,
    &pod_privilege_conflict::RULE,
    &pod_probe_invalid::RULE,
    &pod_process_namespace_conflict::RULE,
    &pod_projected_source_invalid::RULE,
    &pod_resize_policy_invalid::RULE,
    &pod_resource_claim_invalid::RULE,
    &pod_resource_invalid::RULE,
    &pod_resource_request_exceeds_limit::RULE,
    &pod_restart_policy_unsupported::RULE,
    &pod_seccomp_profile_invalid::RULE,
    &pod_security_policy_invalid::RULE,
    &pod_sysctl_invalid::RULE,
    &pod_termination_message_invalid::RULE,
    &pod_toleration_invalid::RULE,
    &pod_topology_spread_invalid::RULE,
    &pod_volume_device_invalid::RULE,
    &pod_volume_file_invalid::RULE,
    &pod_volume_mount_invalid::RULE,
    &pod_volume_mount_unknown::RULE,
    &pod_volume_name_invalid::RULE,
    &pod_volume_source_invalid::RULE,
    &pod_volume_source_several::RULE,
    &pod_windows_options_invalid::RULE,
];

/// A Deployment as the API server receives it.
#[derive(Debug, Clone, Copy)]
pub struct Deployment<'d> {
    /// The CSV.
    pub object: Object<'d>,
    /// The item of `spec.install.spec.deployments`.
    pub path: &'d Path<'d>,
    /// Its spec: `spec` below [`Deployment::path`].
    pub spec_path: &'d Path<'d>,
    /// As written.
    pub written: &'d StrategyDeployment,
    /// With defaults, without the fields of disabled features.
    pub prepared: &'d Prepared,
}

/// Calls `visit` with every Deployment of the CSV's install strategy.
pub(super) fn each(csv: &Csv<'_>, mut visit: impl FnMut(&Deployment<'_>)) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    let written = &csv.typed.spec.install.spec.deployments;
    for (index, (written, prepared)) in written.iter().zip(&csv.deployments).enumerate() {
        let path = list.index(index);
        let spec_path = path.field("spec");
        visit(&Deployment { object: csv.object, path: &path, spec_path: &spec_path, written, prepared });
    }
}

/// Calls `visit` with the pod template of every Deployment of the CSV's install strategy.
pub(super) fn each_template(csv: &Csv<'_>, mut visit: impl FnMut(&PodTemplate<'_>)) {
    each(csv, |deployment| {
        let path = deployment.spec_path.field("template");
        let spec_path = path.field("spec");
        visit(&PodTemplate::new(deployment, csv, &path, &spec_path));
    });
}
