use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    id: "pod-list-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A list in a Deployment's pod template has two entries with the same key: an environment variable's name, a port and its protocol, an image pull secret, a host alias.",
    why: "Kubernetes takes such a Deployment, but not the CSV around it: there the list is a map by these keys, and the API server refuses the CSV.",
    help: "delete one of the two",
    source: "the schema of clusterserviceversions.operators.coreos.com (x-kubernetes-list-map-keys)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let deployments = root.field("spec.install.spec.deployments");
    let list = csv.object.root.dig(&["spec", "install", "spec", "deployments"]);
    for (index, deployment) in list.into_iter().flat_map(Value::items).enumerate() {
        let Some(pod) = deployment.dig(&["spec", "template", "spec"]) else { continue };
        let deployment_path = deployments.index(index);
        let pod_path = deployment_path.field("spec.template.spec");
        let mut report = |path: &Path<'_>, key: &str| {
            reporter.field(&csv.object, path, format!("{key} is in this list already"));
        };
        duplicates(pod, "imagePullSecrets", &pod_path, &|item| text(item, "name", ""), &mut report);
        duplicates(pod, "hostAliases", &pod_path, &|item| text(item, "ip", ""), &mut report);
        for kind in ["containers", "initContainers"] {
            let kind_path = pod_path.field(kind);
            for (index, container) in pod.get(kind).into_iter().flat_map(Value::items).enumerate() {
                let path = kind_path.index(index);
                duplicates(container, "env", &path, &|item| text(item, "name", ""), &mut report);
                let port = |item: Value<'_>| {
                    format!("{}/{}", text(item, "containerPort", "0"), text(item, "protocol", "TCP"))
                };
                duplicates(container, "ports", &path, &port, &mut report);
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

/// A field's text; the default where it is missing or empty, which OLM does not tell apart.
fn text(item: Value<'_>, field: &str, default: &str) -> String {
    let text = item.get(field).filter(|value| !value.is_null()).map(Value::text).unwrap_or_default();
    if text.is_empty() { default.to_owned() } else { text.to_owned() }
}
