//! Monitoring of the manager: the metrics Service and, for clusters that support them, a `ServiceMonitor`, alerts and a
//! `NetworkPolicy`. Only the Service is deployed by default: the others need kinds or plugins that a cluster may lack.

use super::naming::Naming;
use super::webhook;
use crate::identity::names;
use crate::operator::Operator;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

/// Port of the metrics server in the manager's pod.
pub(crate) const METRICS_PORT: i32 = 8443;

/// Returns the Service by which Prometheus reaches the metrics.
pub(crate) fn metrics_service(naming: Naming) -> Service {
    let mut metadata = naming.namespaced(names::METRICS_SERVICE);
    metadata.labels.get_or_insert_default().extend(naming.selector());
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
            selector: Some(naming.selector()),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Returns the `ServiceMonitor` for the Prometheus operator.
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
                // The manager issues its own certificate; the token authenticates the client.
                "tlsConfig": { "insecureSkipVerify": true },
            }],
            "selector": { "matchLabels": naming.selector() },
        },
    })
}

/// Returns a word with its first letter in upper case.
fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Returns the alerts for the Prometheus operator.
pub(crate) fn alerts(naming: Naming, operator: &Operator) -> Value {
    let alert = |name: &str, expression: &str, wait: &str, severity: &str, summary: &str| {
        json!({
            "alert": name, "expr": expression, "for": wait,
            "labels": { "severity": severity },
            "annotations": { "summary": summary },
        })
    };
    let (name, camel) = (operator.identity.name, operator.identity.camel_case());
    let several = operator.controllers.len() > 1;
    let mut rules = Vec::new();
    for controller in &operator.controllers {
        let info = controller.info();
        let (controller, kind) = (operator.name_of(&info.resource), &info.resource.kind);
        let of = match operator.qualifier(kind, &info.resource.group) {
            Some(group) => format!("{kind}{}", group.split(['.', '-']).map(capitalized).collect::<String>()),
            None if several => kind.clone(),
            None => String::new(),
        };
        rules.push(alert(
            &format!("{camel}{of}ReconcileErrors"),
            &format!("sum(rate(controller_runtime_reconcile_errors_total{{controller=\"{controller}\"}}[5m])) > 0.1"),
            "10m",
            "warning",
            &format!("Reconciles of {kind}s keep failing; see their Degraded conditions."),
        ));
        rules.push(alert(
            &format!("{camel}{of}QueueStuck"),
            &format!(
                "workqueue_depth{{name=\"{controller}\"}} > 0 and rate(controller_runtime_reconcile_total{{controller=\"{controller}\"}}[5m]) == 0"
            ),
            "10m",
            "warning",
            "The reconcile queue is stuck.",
        ));
    }
    rules.push(alert(
        &format!("{camel}NoLeader"),
        &format!(
            "max(leader_election_master_status{{name=\"{name}\"}}) == 0 or absent(leader_election_master_status{{name=\"{name}\"}})"
        ),
        "5m",
        "critical",
        &format!("The {} has no leader; nothing is reconciled.", name.replace('-', " ")),
    ));
    if !operator.webhooks.is_empty() {
        rules.push(alert(
            &format!("{camel}WebhookCertificateExpires"),
            &format!(
                "{}_webhook_certificate_expiry_seconds - time() < 86400",
                operator.identity.snake_case()
            ),
            "10m",
            "critical",
            "The webhook certificate expires within a day and has not been renewed.",
        ));
    }
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": naming.namespaced("controller-manager-alerts"),
        "spec": { "groups": [{ "name": name, "rules": rules }] },
    })
}

/// Returns the `NetworkPolicy`: metrics for labelled namespaces only, webhooks for all, as the API server has no label.
pub(crate) fn network_policy(naming: Naming, operator: &Operator) -> NetworkPolicy {
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
    let mut ingress = vec![NetworkPolicyIngressRule {
        from: Some(vec![NetworkPolicyPeer {
            namespace_selector: Some(labelled),
            ..NetworkPolicyPeer::default()
        }]),
        ports: port(METRICS_PORT),
    }];
    if !operator.webhooks.is_empty() {
        ingress.push(NetworkPolicyIngressRule { from: None, ports: port(webhook::PORT) });
    }
    NetworkPolicy {
        metadata: naming.namespaced("controller-manager"),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector {
                match_labels: Some(naming.selector()),
                ..LabelSelector::default()
            }),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: Some(ingress),
            ..NetworkPolicySpec::default()
        }),
    }
}

/// Returns the scorecard's configuration: the tests that the Operator SDK runs on every bundle.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::naming::Form;
    use crate::metrics::Metrics;
    use crate::testing::sample::{IDENTITY, operator};
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use std::collections::BTreeMap;

    /// An object of `monitoring.coreos.com/v1`. The structs here have the fields of the Prometheus operator's `api.md`
    /// that are used; any other field fails the test.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Object<S> {
        api_version: String,
        kind: String,
        #[serde(rename = "metadata")]
        _metadata: Metadata,
        spec: S,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Metadata {
        #[serde(rename = "name")]
        _name: String,
        #[serde(rename = "namespace")]
        _namespace: String,
        #[serde(rename = "labels")]
        _labels: BTreeMap<String, String>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct MonitorSpec {
        endpoints: Vec<Endpoint>,
        selector: LabelSelector,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Endpoint {
        bearer_token_file: String,
        path: String,
        port: String,
        scheme: Scheme,
        tls_config: TlsConfig,
    }

    #[derive(Deserialize, PartialEq, Debug)]
    #[serde(rename_all = "lowercase")]
    enum Scheme {
        Http,
        Https,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct TlsConfig {
        insecure_skip_verify: bool,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct RuleSpec {
        groups: Vec<Group>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Group {
        name: String,
        rules: Vec<Alert>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Alert {
        #[serde(rename = "alert")]
        name: String,
        expr: String,
        #[serde(rename = "for")]
        wait: String,
        labels: BTreeMap<String, String>,
        annotations: BTreeMap<String, String>,
    }

    fn naming() -> Naming {
        Naming { identity: IDENTITY, form: Form::Complete }
    }

    fn read<S: DeserializeOwned>(object: Value, kind: &str) -> S {
        let object: Object<S> = serde_json::from_value(object).unwrap();
        assert_eq!((object.api_version.as_str(), object.kind.as_str()), ("monitoring.coreos.com/v1", kind));
        object.spec
    }

    #[test]
    fn service_monitor_has_the_form_of_its_kind_and_finds_the_metrics_service() {
        let spec: MonitorSpec = read(service_monitor(naming()), "ServiceMonitor");
        let service = metrics_service(naming());
        let labels = service.metadata.labels.unwrap();
        for (key, value) in spec.selector.match_labels.unwrap() {
            assert_eq!(labels.get(&key), Some(&value), "the Service's label {key}");
        }
        let ports: Vec<_> = service.spec.unwrap().ports.unwrap().into_iter().filter_map(|p| p.name).collect();
        for endpoint in spec.endpoints {
            assert!(ports.contains(&endpoint.port), "{ports:?}");
            assert_eq!((endpoint.scheme, endpoint.path.as_str()), (Scheme::Https, "/metrics"));
            assert!(endpoint.tls_config.insecure_skip_verify && endpoint.bearer_token_file.starts_with('/'));
        }
    }

    /// Returns whether a text such as `1h30m` matches the Prometheus operator's pattern for durations.
    fn is_duration(text: &str) -> bool {
        let mut rest = text;
        for unit in ["y", "w", "d", "h", "m", "s", "ms"] {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let after = &rest[digits..];
            let follows = |unit: &str| after.strip_prefix(unit).filter(|_| digits > 0);
            // `5ms` is not five minutes.
            if unit == "m" && follows("ms").is_some() {
                continue;
            }
            rest = follows(unit).unwrap_or(rest);
        }
        !text.is_empty() && rest.is_empty()
    }

    #[test]
    fn alerts_have_the_form_of_their_kind_and_use_metrics_that_are_served() {
        let metrics = Metrics::new(&IDENTITY);
        metrics.leads(false);
        metrics.certificate(0);
        // As of a manager with a controller; its first request is the one that lists the controller's objects.
        metrics.controller("cluster", 1);
        metrics.requested("GET", 200);
        let page = metrics.page();
        let spec: RuleSpec = read(alerts(naming(), &operator()), "PrometheusRule");
        for group in &spec.groups {
            assert!(!group.name.is_empty());
            for rule in &group.rules {
                assert!(rule.name.starts_with("TestOperator"), "{}", rule.name);
                assert!(is_duration(&rule.wait), "{}: for {}", rule.name, rule.wait);
                assert!(["warning", "critical"].contains(&rule.labels["severity"].as_str()));
                assert!(rule.annotations["summary"].ends_with('.'));
                let names = rule
                    .expr
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .filter(|word| word.contains('_'));
                let names: Vec<_> = names.collect();
                assert!(!names.is_empty(), "{}", rule.expr);
                for name in names {
                    assert!(page.contains(&format!("# TYPE {name} ")), "{}: {name}", rule.name);
                }
            }
        }
    }

    #[test]
    fn network_policy_allows_the_ports_that_the_manager_serves() {
        let policy = network_policy(naming(), &operator()).spec.unwrap();
        let deployment = super::super::manager::deployment(naming(), &operator(), "i:1");
        let template = deployment.spec.unwrap().template;
        let labels = template.metadata.unwrap().labels.unwrap();
        for (key, value) in policy.pod_selector.unwrap().match_labels.unwrap() {
            assert_eq!(labels.get(&key), Some(&value), "the pod's label {key}");
        }
        let mut served: Vec<_> = template.spec.unwrap().containers.remove(0).ports.unwrap_or_default();
        // No policy applies to the kubelet.
        served.retain(|port| port.name.as_deref() != Some("health"));
        let mut served: Vec<_> = served.into_iter().map(|port| port.container_port).collect();
        let rules = policy.ingress.unwrap();
        let mut open: Vec<_> = rules
            .iter()
            .flat_map(|rule| rule.ports.iter().flatten())
            .map(|port| match port.port {
                Some(IntOrString::Int(number)) => number,
                _ => panic!("{port:?}"),
            })
            .collect();
        served.sort_unstable();
        open.sort_unstable();
        assert_eq!(open, served);
        let metrics = rules.iter().find(|rule| rule.from.is_some()).unwrap();
        assert_eq!(metrics.ports.as_ref().unwrap()[0].port, Some(IntOrString::Int(METRICS_PORT)));
    }
}
