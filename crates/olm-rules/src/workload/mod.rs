//! Deployments that OLM creates from the CSV's install strategy, and the pods that these create.
//!
//! The API server sets defaults and drops the fields of disabled features before it validates; [`Prepared`] does the
//! same once, and each rule validates its part. Sources: `k8s.io/kubernetes/pkg/apis/{core,apps}/validation` at
//! 1.30 to 1.37, and how OLM creates a Deployment from the strategy: `pkg/controller/install/deployment.go`.

mod claims;
mod handlers;
mod resources;
mod sources;
mod tolerations;
mod volumes;

super::rule::rule_files! {
    deployment_count_negative,
    deployment_deadline_too_short,
    deployment_label_invalid,
    deployment_name_invalid,
    deployment_selector_invalid,
    deployment_selector_mismatch,
    deployment_strategy_invalid,
    pod_active_deadline_unsupported,
    pod_affinity_invalid,
    pod_annotation_field_mismatch,
    pod_annotation_invalid,
    pod_annotation_value_invalid,
    pod_apparmor_profile_invalid,
    pod_container_missing,
    pod_container_name_duplicate,
    pod_container_name_invalid,
    pod_dns_invalid,
    pod_env_from_invalid,
    pod_env_name_invalid,
    pod_env_source_invalid,
    pod_ephemeral_container_forbidden,
    pod_ephemeral_volume_invalid,
    pod_gate_invalid,
    pod_host_alias_invalid,
    pod_host_port_mismatch,
    pod_host_users_conflict,
    pod_hostname_override_invalid,
    pod_identity_invalid,
    pod_image_missing,
    pod_init_container_field_forbidden,
    pod_label_invalid,
    pod_level_resources_invalid,
    pod_lifecycle_invalid,
    pod_name_reference_invalid,
    pod_node_affinity_invalid,
    pod_node_selector_invalid,
    pod_os_field_forbidden,
    pod_overhead_invalid,
    pod_port_duplicate,
    pod_port_invalid,
    pod_privilege_conflict,
    pod_probe_invalid,
    pod_process_namespace_conflict,
    pod_projected_source_invalid,
    pod_resize_policy_invalid,
    pod_resource_claim_invalid,
    pod_resource_invalid,
    pod_resource_request_exceeds_limit,
    pod_restart_policy_unsupported,
    pod_restart_rule_invalid,
    pod_seccomp_profile_invalid,
    pod_security_policy_invalid,
    pod_sysctl_invalid,
    pod_toleration_invalid,
    pod_topology_spread_invalid,
    pod_values (table),
    pod_volume_device_invalid,
    pod_volume_file_invalid,
    pod_volume_mount_invalid,
    pod_volume_mount_unknown,
    pod_volume_name_invalid,
    pod_volume_source_invalid,
    pod_volume_source_several,
    pod_windows_options_invalid,
}
