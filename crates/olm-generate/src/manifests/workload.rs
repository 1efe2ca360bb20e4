//! The operator's Deployments.

use serde_json::{Value, json};

use super::context::{Context, Error, list, map, object, string};
use super::webhook::{cert_name, is_served_by, service_name};

/// Where programs look for the certificate of a webhook: name of the volume, path, and names of the files.
const MOUNTS: [(&str, &str, &str, &str); 2] = [
    ("webhook-cert", "/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"),
    ("apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"),
];

/// Returns the Deployments, with the annotations from which operators read what they watch.
pub(crate) fn deployments(context: &Context<'_>) -> Result<Vec<Value>, Error> {
    context.deployments().iter().map(|deployment| deployment_object(context, deployment)).collect()
}

fn deployment_object(context: &Context<'_>, deployment: &Value) -> Result<Value, Error> {
    let name = string(deployment, "/name");
    let incomplete =
        || Error::Unsupported(format!("deployment `{name}` of the install strategy has no spec.template"));
    let mut made = object("apps/v1", "Deployment", name, Some(&context.options.namespace));
    if let Some(labels) = deployment.get("label").filter(|labels| labels.is_object()) {
        made["metadata"]["labels"] = labels.clone();
    }
    made["spec"] = deployment.get("spec").cloned().unwrap_or_default();
    map(&mut made, "spec").ok_or_else(incomplete)?.insert("revisionHistoryLimit".into(), 1.into());
    let template = made["spec"].get_mut("template").filter(|template| template.is_object());
    let template = template.ok_or_else(incomplete)?;
    let own = template.pointer("/metadata/annotations").and_then(Value::as_object).cloned();
    let of_csv = context.csv.pointer("/metadata/annotations").and_then(Value::as_object);
    map(template, "metadata").ok_or_else(incomplete)?;
    let annotations = map(&mut template["metadata"], "annotations").ok_or_else(incomplete)?;
    annotations.extend(of_csv.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
    annotations.extend(own.into_iter().flatten());
    // Examples, which the pod does not need, and which may be larger than the rest.
    annotations.remove("alm-examples");
    annotations.insert("olm.targetNamespaces".into(), context.options.targets.join(",").into());
    annotations.insert("olm.operatorNamespace".into(), context.options.namespace.as_str().into());
    if is_served_by(context, name) {
        mount(template, &cert_name(&service_name(name)));
    }
    Ok(made)
}

/// Mounts the certificate, instead of what the bundle has at the same place.
fn mount(template: &mut Value, secret: &str) {
    let Some(spec) = map(template, "spec") else { return };
    let mut replaced: Vec<String> = MOUNTS.iter().map(|mount| mount.0.to_owned()).collect();
    let containers = spec.get("containers").and_then(Value::as_array).into_iter().flatten();
    for mount in containers.flat_map(|container| list(container, "/volumeMounts")) {
        if MOUNTS.iter().any(|(_, path, ..)| mount["mountPath"] == *path) {
            replaced.push(string(mount, "/name").to_owned());
        }
    }
    let is_kept = |value: &Value| !replaced.iter().any(|name| value["name"] == name.as_str());
    let kept = |list: Option<&Value>| -> Vec<Value> {
        list.and_then(Value::as_array).into_iter().flatten().filter(|value| is_kept(value)).cloned().collect()
    };
    let mut volumes = kept(spec.get("volumes"));
    volumes.extend(MOUNTS.iter().map(|(name, _, certificate, key)| {
        json!({"name": name, "secret": {"secretName": secret, "items": [
            {"key": "tls.crt", "path": certificate}, {"key": "tls.key", "path": key},
        ]}})
    }));
    spec.insert("volumes".into(), volumes.into());
    for container in spec.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten() {
        let mut mounts = kept(container.get("volumeMounts"));
        mounts.extend(MOUNTS.iter().map(|(name, path, ..)| json!({"name": name, "mountPath": path})));
        if let Some(container) = container.as_object_mut() {
            container.insert("volumeMounts".into(), mounts.into());
        }
    }
}
