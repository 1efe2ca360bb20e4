//! The objects of built-in kinds in `manifests/`, decoded as the API server decodes them.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/{core,policy,scheduling,networking}/validation` at 1.34.

mod services;

super::rule::rule_files! {
    api_service_invalid,
    config_map_key_invalid,
    config_map_too_large,
    disruption_budget_invalid,
    network_policy_peer_invalid,
    network_policy_port_invalid,
    network_policy_type_invalid,
    object_undecodable,
    object_version_unserved,
    priority_class_invalid,
    secret_key_invalid,
    secret_too_large,
    secret_type_mismatch,
    service_address_invalid,
    service_affinity_invalid,
    service_load_balancer_invalid,
    service_node_port_unusual,
    service_port_duplicate,
    service_port_invalid,
    service_selector_invalid,
    service_topology_mismatch,
    service_traffic_policy_invalid,
    service_type_invalid,
    unknown_field,
}
