use crate::inputs::feature;
use crate::prelude::*;
use kube_yaml::Value;
use kubernetes_cel::Server;
use std::collections::{HashMap, HashSet};

pub(crate) static RULE: Rule = Rule {
    id: "pod-list-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A list in a Deployment's pod template has two entries with the same key: environment variables, ports, image pull secrets, host aliases or resource claims.",
    impacts: &[
        Impact::CsvRejected,
        Impact::Specific(
            "Kubernetes accepts such a Deployment, but the CRD of the CSV declares these lists as maps with unique keys.",
        ),
    ],
    help: "remove one of the entries",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "crds/operators.coreos.com_clusterserviceversions.yaml",
        &["x-kubernetes-list-map-keys"],
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let deployments = root.field("spec.install.spec.deployments");
    let list = csv.dig(&["spec", "install", "spec", "deployments"]);
    for (index, deployment) in list.into_iter().flat_map(Value::items).enumerate() {
        let Some(pod) = deployment.dig(&["spec", "template", "spec"]) else { continue };
        let deployment_path = deployments.index(index);
        let pod_path = deployment_path.field("spec.template.spec");
        let server = reporter.server();
        let mut report = |path: &Path<'_>, key: &str| {
            reporter.field(&csv.object, path, format!("duplicate entry `{key}`"));
        };
        duplicates(pod, "imagePullSecrets", &pod_path, &|item| string_or(item, "name", ""), &mut report);
        duplicates(pod, "hostAliases", &pod_path, &|item| string_or(item, "ip", ""), &mut report);
        claims(pod, "resourceClaims", &pod_path, server, &mut report);
        if let Some(resources) = pod.get("resources") {
            claims(resources, "claims", &pod_path.field("resources"), server, &mut report);
        }
        for kind in ["containers", "initContainers"] {
            let kind_path = pod_path.field(kind);
            for (index, container) in pod.get(kind).into_iter().flat_map(Value::items).enumerate() {
                let path = kind_path.index(index);
                duplicates(container, "env", &path, &|item| string_or(item, "name", ""), &mut report);
                let port = |item: Value<'_>| {
                    format!(
                        "{}/{}",
                        string_or(item, "containerPort", "0"),
                        string_or(item, "protocol", "TCP")
                    )
                };
                duplicates(container, "ports", &path, &port, &mut report);
                if let Some(resources) = container.get("resources") {
                    claims(resources, "claims", &path.field("resources"), server, &mut report);
                }
            }
        }
    }
}

fn duplicates(
    parent: Value<'_>,
    field: &str,
    path: &Path<'_>,
    key: &dyn Fn(Value<'_>) -> String,
    report: &mut impl FnMut(&Path<'_>, &str),
) {
    let list = path.field(field);
    let mut seen = HashSet::new();
    for (index, item) in parent.get(field).into_iter().flat_map(Value::items).enumerate() {
        let key = key(item);
        if seen.contains(&key) {
            report(&list.index(index), &key);
        }
        seen.insert(key);
    }
}

/// Reports what the rules for claims of Pods do not: two requests of a claim, and everything before the feature is enabled.
fn claims(
    parent: Value<'_>,
    field: &str,
    path: &Path<'_>,
    server: &Server,
    report: &mut impl FnMut(&Path<'_>, &str),
) {
    let list = path.field(field);
    let mut seen: HashMap<String, Vec<String>> = HashMap::new();
    for (index, item) in parent.get(field).into_iter().flat_map(Value::items).enumerate() {
        let (name, request) = (string_or(item, "name", ""), string_or(item, "request", ""));
        let requests = seen.entry(name.clone()).or_default();
        let overlaps =
            requests.iter().any(|other| request.is_empty() || other.is_empty() || *other == request);
        if !requests.is_empty() && (!overlaps || !server.since(feature::DYNAMIC_RESOURCE_ALLOCATION)) {
            report(&list.index(index), &name);
        }
        requests.push(request);
    }
}

/// Returns a field as a string; the default if it is missing or empty, which are the same for OLM.
fn string_or(item: Value<'_>, field: &str, default: &str) -> String {
    let text = item.get(field).filter(|value| !value.is_null()).map(Value::text).unwrap_or_default();
    if text.is_empty() { default.to_owned() } else { text.to_owned() }
}
