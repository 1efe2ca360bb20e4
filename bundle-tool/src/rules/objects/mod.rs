//! The objects of built-in kinds in `manifests/`, decoded as the API server decodes them.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/{core,policy,scheduling,networking}/validation` at 1.34.

mod api_service_invalid;
mod config_map_key_invalid;
mod config_map_too_large;
mod disruption_budget_invalid;
mod known;
mod network_policy_peer_invalid;
mod network_policy_port_invalid;
mod network_policy_type_invalid;
mod object_undecodable;
mod object_version_unserved;
mod priority_class_invalid;
mod secret_key_invalid;
mod secret_too_large;
mod secret_type_mismatch;
mod service_address_invalid;
mod service_affinity_invalid;
mod service_load_balancer_invalid;
mod service_node_port_unusual;
mod service_port_duplicate;
mod service_port_invalid;
mod service_selector_invalid;
mod service_topology_mismatch;
mod service_traffic_policy_invalid;
mod service_type_invalid;
mod services;
mod unknown_field;

use super::Rule;

pub use known::{Base64, ConfigMap, Known, Secret, Typed};
pub(super) use known::{decode, is_of_other_kind};

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &api_service_invalid::RULE,
    &config_map_key_invalid::RULE,
    &config_map_too_large::RULE,
    &disruption_budget_invalid::RULE,
    &network_policy_peer_invalid::RULE,
    &network_policy_port_invalid::RULE,
    &network_policy_type_invalid::RULE,
    &object_undecodable::RULE,
    &object_version_unserved::RULE,
    &priority_class_invalid::RULE,
    &secret_key_invalid::RULE,
    &secret_too_large::RULE,
    &secret_type_mismatch::RULE,
    &service_address_invalid::RULE,
    &service_affinity_invalid::RULE,
    &service_load_balancer_invalid::RULE,
    &service_node_port_unusual::RULE,
    &service_port_duplicate::RULE,
    &service_port_invalid::RULE,
    &service_selector_invalid::RULE,
    &service_topology_mismatch::RULE,
    &service_traffic_policy_invalid::RULE,
    &service_type_invalid::RULE,
    &unknown_field::RULE,
];
