//! What watches the manager: the metrics Service, and for clusters that have them a `ServiceMonitor`, alerts and a
//! `NetworkPolicy`. Only the Service is deployed by default: the others need kinds or plugins that a cluster may lack.

use super::{Naming, names, webhook};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

/// Port of the metrics server in the manager's pod.
pub(crate) const METRICS_PORT: i32 = 8443;

/// The Service by which Prometheus reaches the metrics.
pub(crate) fn metrics_service(naming: Naming) -> Service {
    let mut metadata = naming.namespaced(names::METRICS_SERVICE);
    metadata.labels.get_or_insert_default().extend(super::manager::selector());
    Service {
        metadata,
        spec: Some(ServiceSpec {
            ports: Some(vec![ServicePort {
                name: Some("https".to_owned()),
                port: METRICS_PORT,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::Int(METRICS_PORT)),
                ..ServicePort::default()
            }]),
            selector: Some(super::manager::selector()),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// For the Prometheus operator.
pub(crate) fn service_monitor(naming: Naming) -> Value {
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": naming.namespaced("controller-manager-metrics-monitor"),
        "spec": {
            "endpoints": [{
                "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "path": "/metrics",
                "port": "https",
                "scheme": "https",
                // The manager's certificate is its own; who reads is proven by the token.
                "tlsConfig": { "insecureSkipVerify": true },
            }],
            "selector": { "matchLabels": super::manager::selector() },
        },
    })
}

/// Alerts for the Prometheus operator.
pub(crate) fn alerts(naming: Naming) -> Value {
    let alert = |name: &str, expression: &str, wait: &str, severity: &str, summary: &str| {
        json!({
            "alert": name, "expr": expression, "for": wait,
            "labels": { "severity": severity },
            "annotations": { "summary": summary },
        })
    };
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": naming.namespaced("controller-manager-alerts"),
        "spec": { "groups": [{ "name": "memcached-operator", "rules": [
            alert(
                "MemcachedOperatorReconcileErrors",
                "sum(rate(controller_runtime_reconcile_errors_total{controller=\"memcached\"}[5m])) > 0.1",
                "10m",
                "warning",
                "Reconciles of Memcacheds keep failing; their Degraded conditions say why.",
            ),
            alert(
                "MemcachedOperatorQueueStuck",
                "workqueue_depth{name=\"memcached\"} > 0 and rate(controller_runtime_reconcile_total{controller=\"memcached\"}[5m]) == 0",
                "10m",
                "warning",
                "Memcacheds wait to be reconciled and none is.",
            ),
            alert(
                "MemcachedOperatorNoLeader",
                "max(leader_election_master_status{name=\"memcached-operator\"}) == 0 or absent(leader_election_master_status{name=\"memcached-operator\"})",
                "5m",
                "critical",
                "No manager of the memcached operator leads: nothing is reconciled.",
            ),
            alert(
                "MemcachedOperatorWebhookCertificateExpires",
                "memcached_operator_webhook_certificate_expiry_seconds - time() < 86400",
                "10m",
                "critical",
                "The webhook's certificate was not renewed; soon Memcacheds can no longer be changed.",
            ),
        ]}]},
    })
}

/// Lets only labelled namespaces read the metrics, and everybody the webhooks: the API server has no label.
pub(crate) fn network_policy(naming: Naming) -> NetworkPolicy {
    let port = |number: i32| {
        Some(vec![NetworkPolicyPort {
            port: Some(IntOrString::Int(number)),
            protocol: Some("TCP".to_owned()),
            ..NetworkPolicyPort::default()
        }])
    };
    let labelled = LabelSelector {
        match_labels: Some([("metrics".to_owned(), "enabled".to_owned())].into()),
        ..LabelSelector::default()
    };
    NetworkPolicy {
        metadata: naming.namespaced("controller-manager"),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector {
                match_labels: Some(super::manager::selector()),
                ..LabelSelector::default()
            }),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: Some(vec![
                NetworkPolicyIngressRule {
                    from: Some(vec![NetworkPolicyPeer {
                        namespace_selector: Some(labelled),
                        ..NetworkPolicyPeer::default()
                    }]),
                    ports: port(METRICS_PORT),
                },
                NetworkPolicyIngressRule { from: None, ports: port(webhook::PORT) },
            ]),
            ..NetworkPolicySpec::default()
        }),
    }
}

/// The scorecard's configuration: the tests that the Operator SDK runs on any bundle.
pub(crate) fn scorecard() -> Value {
    let image = "quay.io/operator-framework/scorecard-test:v1.41.1";
    let test = |suite: &str, name: &str| {
        json!({
            "entrypoint": ["scorecard-test", name],
            "image": image,
            "labels": { "suite": suite, "test": format!("{name}-test") },
            "storage": { "spec": { "mountPath": {} } },
        })
    };
    json!({
        "apiVersion": "scorecard.operatorframework.io/v1alpha3",
        "kind": "Configuration",
        "metadata": { "name": "config" },
        "serviceaccount": "",
        "stages": [{ "parallel": true, "tests": [
            test("basic", "basic-check-spec"),
            test("olm", "olm-bundle-validation"),
            test("olm", "olm-crds-have-validation"),
            test("olm", "olm-crds-have-resources"),
            test("olm", "olm-spec-descriptors"),
            test("olm", "olm-status-descriptors"),
        ]}],
        "storage": { "spec": { "mountPath": {} } },
    })
}
