//! The admission webhooks: their Service and their configurations.
//!
//! The configurations have no CA bundle: OLM, cert-manager or the manager itself adds it.
//!
//! Their failure policy is `Ignore`: while no manager is ready, as during a node drain or an upgrade, Memcacheds can
//! still be written. Nothing invalid is acted on, because the schema and the controller check the same.

use super::{Naming, names};
use crate::admission::{MUTATE_PATH, VALIDATE_PATH};
use crate::crd::{GROUP, STORED_VERSION};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Port of the webhook server in the manager's pod.
pub(crate) const PORT: i32 = 9443;

/// What the API server does if the webhooks do not respond.
const FAILURE_POLICY: &str = "Ignore";
/// How long the API server waits for the webhooks; a write is delayed so much while no manager responds.
const TIMEOUT_SECONDS: i32 = 3;

/// Returns the Service by which the API server reaches the webhooks.
pub(crate) fn service(naming: Naming) -> Service {
    Service {
        metadata: naming.namespaced(names::WEBHOOK_SERVICE),
        spec: Some(ServiceSpec {
            ports: Some(vec![ServicePort {
                port: 443,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::Int(PORT)),
                ..ServicePort::default()
            }]),
            selector: Some(super::manager::selector()),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Returns the configuration of the defaulting webhook.
pub(crate) fn mutating(naming: Naming) -> MutatingWebhookConfiguration {
    MutatingWebhookConfiguration {
        metadata: naming.cluster(names::MUTATING),
        webhooks: Some(vec![MutatingWebhook {
            name: "mmemcached-v1.kb.io".to_owned(),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: client(naming, MUTATE_PATH),
            failure_policy: Some(FAILURE_POLICY.to_owned()),
            match_policy: Some("Equivalent".to_owned()),
            rules: Some(rules()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(TIMEOUT_SECONDS),
            ..MutatingWebhook::default()
        }]),
    }
}

/// Returns the configuration of the validating webhook.
pub(crate) fn validating(naming: Naming) -> ValidatingWebhookConfiguration {
    ValidatingWebhookConfiguration {
        metadata: naming.cluster(names::VALIDATING),
        webhooks: Some(vec![ValidatingWebhook {
            name: "vmemcached-v1.kb.io".to_owned(),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: client(naming, VALIDATE_PATH),
            failure_policy: Some(FAILURE_POLICY.to_owned()),
            match_policy: Some("Equivalent".to_owned()),
            rules: Some(rules()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(TIMEOUT_SECONDS),
            ..ValidatingWebhook::default()
        }]),
    }
}

fn client(naming: Naming, path: &str) -> WebhookClientConfig {
    WebhookClientConfig {
        service: Some(ServiceReference {
            name: naming.name(names::WEBHOOK_SERVICE),
            namespace: naming.namespace(),
            path: Some(path.to_owned()),
            ..ServiceReference::default()
        }),
        ..WebhookClientConfig::default()
    }
}

fn rules() -> Vec<RuleWithOperations> {
    let strings = |list: &[&str]| Some(list.iter().map(ToString::to_string).collect());
    vec![RuleWithOperations {
        api_groups: strings(&[GROUP]),
        api_versions: strings(&[STORED_VERSION]),
        operations: strings(&["CREATE", "UPDATE"]),
        resources: strings(&["memcacheds"]),
        ..RuleWithOperations::default()
    }]
}
