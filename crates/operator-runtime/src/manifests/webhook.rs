//! The admission webhooks: their Service and their configurations.
//!
//! The configurations have no CA bundle: OLM, cert-manager or the manager itself adds it.
//!
//! Their failure policy is `Ignore` unless they fail closed: while no manager is ready, as during a node drain or an
//! upgrade, objects can still be written. The schema and the controller should check the same.

#[cfg(any(test, feature = "testing"))]
use super::naming::Form;
use super::naming::Naming;
use crate::admission::{Handler, Operation, Webhook};
use crate::conversion::CONVERT_PATH;
use crate::identity::names;
use crate::operator::Operator;
use crate::webhook_url::WebhookUrl;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as crds;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Port of the webhook server in the manager's pod.
pub(crate) const PORT: i32 = 9443;

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
            selector: Some(naming.selector()),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Returns a configuration with the webhooks that it is for. Both kinds have the same fields but for the type of a webhook.
macro_rules! configuration {
    ($(#[$doc:meta])* $function:ident: $configuration:ident of $webhook:ident, $handler:ident, $name:ident) => {
        $(#[$doc])*
        pub(crate) fn $function(naming: Naming, operator: &Operator) -> $configuration {
            let webhooks = operator.webhooks.iter().filter(|found| matches!(found.handler, Handler::$handler(_)));
            let webhooks = webhooks.map(|webhook| $webhook {
                name: operator.webhook_name(webhook),
                admission_review_versions: vec!["v1".to_owned()],
                client_config: client(naming, &webhook.path()),
                failure_policy: Some(failure_policy(webhook)),
                match_policy: Some("Equivalent".to_owned()),
                rules: Some(rules(webhook)),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..$webhook::default()
            });
            $configuration { metadata: naming.cluster(names::$name), webhooks: Some(webhooks.collect()) }
        }
    };
}

configuration! {
    /// Returns the configuration of the defaulting webhooks.
    mutating: MutatingWebhookConfiguration of MutatingWebhook, Mutating, MUTATING
}
configuration! {
    /// Returns the configuration of the validating webhooks.
    validating: ValidatingWebhookConfiguration of ValidatingWebhook, Validating, VALIDATING
}

/// Returns the webhook configurations with complete names.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn webhooks(
    operator: &Operator,
) -> (MutatingWebhookConfiguration, ValidatingWebhookConfiguration) {
    let naming = Naming { identity: operator.identity, form: Form::Complete };
    (mutating(naming, operator), validating(naming, operator))
}

/// Returns what the API server does if a webhook does not respond.
fn failure_policy(webhook: &Webhook) -> String {
    if webhook.fail_closed { "Fail" } else { "Ignore" }.to_owned()
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

/// Returns how the API server reaches the conversion webhook: by the Service, or at a URL.
pub(crate) fn conversion(naming: Naming, url: Option<&WebhookUrl>) -> crds::WebhookClientConfig {
    let service = crds::ServiceReference {
        name: naming.name(names::WEBHOOK_SERVICE),
        namespace: naming.namespace(),
        path: Some(CONVERT_PATH.to_owned()),
        ..crds::ServiceReference::default()
    };
    crds::WebhookClientConfig {
        url: url.map(|url| url.at(CONVERT_PATH)),
        service: url.is_none().then_some(service),
        ..crds::WebhookClientConfig::default()
    }
}

fn rules(webhook: &Webhook) -> Vec<RuleWithOperations> {
    let strings = |list: &[&str]| Some(list.iter().map(ToString::to_string).collect());
    vec![RuleWithOperations {
        api_groups: strings(&[&webhook.resource.group]),
        api_versions: strings(&[&webhook.resource.version]),
        operations: Some(webhook.operations.iter().map(operation).map(ToOwned::to_owned).collect()),
        resources: strings(&[&webhook.resource.plural]),
        ..RuleWithOperations::default()
    }]
}

fn operation(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}
