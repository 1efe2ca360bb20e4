//! CRDs, webhook configurations, and the Services and certificates of webhooks.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::context::{Certificates, Context, Error, list, map, object, string};
use olm_model::Bundle;

/// The maximum length of a name that OLM makes.
const MAX_NAME: usize = 63;

/// The annotation with which cert-manager writes the certificate authority into a webhook.
const INJECT: &str = "cert-manager.io/inject-ca-from";

/// The port of a webhook that names none.
const PORT: i64 = 443;

/// The validity of cert-manager's certificates and when they are renewed, as OLM's.
const DURATION: &str = "17520h";
const RENEW_BEFORE: &str = "24h";

/// Shortens the base so that the name with its suffix is a label.
fn with_suffix(base: &str, suffix: &str) -> String {
    let mut end = base.len().min(MAX_NAME - suffix.len() - 1);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{suffix}", &base[..end])
}

/// Returns the name of the Service of a Deployment's webhooks.
pub(crate) fn service_name(deployment: &str) -> String {
    with_suffix(&deployment.replace('.', "-"), "service")
}

/// Returns the name of a Service's certificate, and of its Secret.
pub(crate) fn cert_name(service: &str) -> String {
    with_suffix(service, "cert")
}

/// Returns the DNS names of a Service.
pub(crate) fn names(service: &str, namespace: &str) -> Vec<String> {
    let name = format!("{service}.{namespace}");
    vec![name.clone(), format!("{name}.svc"), format!("{name}.svc.cluster.local")]
}

/// Returns the Deployments that serve webhooks.
pub(crate) fn deployments(context: &Context<'_>) -> BTreeSet<String> {
    context.webhooks.iter().map(|webhook| string(webhook, "/deploymentName").to_owned()).collect()
}

/// Returns whether a Deployment serves a webhook.
pub(crate) fn is_served_by(context: &Context<'_>, deployment: &str) -> bool {
    context.webhooks.iter().any(|webhook| webhook["deploymentName"] == deployment)
}

fn port(webhook: &Value) -> i64 {
    webhook["containerPort"].as_i64().filter(|port| *port > 0).unwrap_or(PORT)
}

/// Returns how the API server calls a webhook.
fn client(context: &Context<'_>, webhook: &Value) -> Value {
    let deployment = string(webhook, "/deploymentName");
    let mut service = json!({
        "name": service_name(deployment), "namespace": context.options.namespace, "port": port(webhook),
    });
    match string(webhook, "/webhookPath") {
        "" if webhook["type"] == "ConversionWebhook" => service["path"] = "/".into(),
        "" => {}
        path => service["path"] = path.into(),
    }
    let mut client = json!({"service": service});
    if let Some(pair) = context.certificates.get(deployment) {
        client["caBundle"] = STANDARD.encode(&pair.authority).into();
    }
    client
}

/// Lets cert-manager write the certificate authority into an object.
fn inject(context: &Context<'_>, webhook: &Value, object: &mut Value) {
    if context.options.certificates != Certificates::CertManager {
        return;
    }
    let certificate = cert_name(&service_name(string(webhook, "/deploymentName")));
    if map(object, "metadata").is_some()
        && let Some(annotations) = map(&mut object["metadata"], "annotations")
    {
        annotations.insert(INJECT.into(), format!("{}/{certificate}", context.options.namespace).into());
    }
}

/// Returns the CRDs, with their conversion webhooks.
pub(crate) fn crds(context: &Context<'_>, bundle: &Bundle) -> Result<Vec<Value>, Error> {
    let mut converted: BTreeMap<&str, &Value> = BTreeMap::new();
    for webhook in context.webhooks.iter().filter(|webhook| webhook["type"] == "ConversionWebhook") {
        for name in list(webhook, "/conversionCRDs").iter().filter_map(Value::as_str) {
            if converted.insert(name, webhook).is_some() {
                return Err(Error::Unsupported(format!("CRD `{name}` has several conversion webhooks")));
            }
        }
    }
    let mut found = Vec::new();
    for one in bundle.of_kind("CustomResourceDefinition") {
        let mut crd = one.root.to_json();
        if let Some(webhook) = converted.get(one.name()) {
            if crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
                return Err(Error::Unsupported(format!(
                    "CRD `{}` has a conversion webhook: set spec.preserveUnknownFields to false",
                    one.name()
                )));
            }
            if let Some(spec) = map(&mut crd, "spec") {
                let versions = webhook["admissionReviewVersions"].clone();
                let conversion = json!({"strategy": "Webhook", "webhook": {
                    "clientConfig": client(context, webhook), "conversionReviewVersions": versions,
                }});
                spec.insert("conversion".into(), conversion);
            }
            inject(context, webhook, &mut crd);
        }
        if let Some(crd) = crd.as_object_mut() {
            crd.remove("status");
        }
        found.push(crd);
    }
    Ok(found)
}

/// Returns the webhook configurations.
pub(crate) fn configurations(context: &Context<'_>) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    let targets = &context.options.targets;
    for webhook in &context.webhooks {
        let kind = match string(webhook, "/type") {
            "ValidatingAdmissionWebhook" => "ValidatingWebhookConfiguration",
            "MutatingAdmissionWebhook" => "MutatingWebhookConfiguration",
            "ConversionWebhook" => continue,
            other => return Err(Error::Unsupported(format!("unknown type of webhook: `{other}`"))),
        };
        let name = string(webhook, "/generateName").trim_end_matches('-');
        let mut made = json!({"name": name, "clientConfig": client(context, webhook)});
        let mut fields = vec![
            "rules",
            "failurePolicy",
            "matchPolicy",
            "objectSelector",
            "sideEffects",
            "timeoutSeconds",
            "admissionReviewVersions",
        ];
        if kind == "MutatingWebhookConfiguration" {
            fields.push("reinvocationPolicy");
        }
        for field in fields {
            if let Some(value) = webhook.get(field).filter(|value| !value.is_null()) {
                made[field] = value.clone();
            }
        }
        if !targets.is_empty() {
            made["namespaceSelector"] = json!({"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": targets},
            ]});
        }
        let mut configuration = object("admissionregistration.k8s.io/v1", kind, name, None);
        configuration["webhooks"] = json!([made]);
        inject(context, webhook, &mut configuration);
        found.push(configuration);
    }
    Ok(found)
}

/// Returns the Services of webhooks.
pub(crate) fn services(context: &Context<'_>) -> Vec<Value> {
    let of_deployment = |deployment: &Value| {
        let name = string(deployment, "/name");
        let mut ports: Vec<Value> = Vec::new();
        for webhook in context.webhooks.iter().filter(|webhook| webhook["deploymentName"] == name) {
            let port = port(webhook);
            let target = webhook.get("targetPort").filter(|target| !target.is_null());
            let target = target.cloned().unwrap_or_else(|| port.into());
            if !ports.iter().any(|known| known["port"] == port) {
                ports.push(json!({"name": port.to_string(), "port": port, "targetPort": target}));
            }
        }
        if ports.is_empty() {
            return None;
        }
        ports.sort_by_key(|port| port["port"].as_i64());
        let mut service = object("v1", "Service", &service_name(name), Some(&context.options.namespace));
        let selector = deployment.pointer("/spec/selector/matchLabels").cloned().unwrap_or_default();
        service["spec"] = json!({"ports": ports, "selector": selector});
        Some(service)
    };
    context.deployments().iter().filter_map(of_deployment).collect()
}

/// Returns the Secrets with certificates, or what cert-manager makes them of.
pub(crate) fn certificates(context: &Context<'_>) -> Vec<Value> {
    let namespace = context.options.namespace.as_str();
    let mut found = Vec::new();
    for deployment in deployments(context) {
        let service = service_name(&deployment);
        let name = cert_name(&service);
        if let Some(pair) = context.certificates.get(&deployment) {
            let mut secret = object("v1", "Secret", &name, Some(namespace));
            secret["type"] = "kubernetes.io/tls".into();
            secret["stringData"] = json!({"tls.crt": pair.certificate, "tls.key": pair.key});
            found.push(secret);
            continue;
        }
        let issuer_name = with_suffix(&name, "selfsigned-issuer");
        let mut issuer = object("cert-manager.io/v1", "Issuer", &issuer_name, Some(namespace));
        issuer["spec"] = json!({"selfSigned": {}});
        let mut certificate = object("cert-manager.io/v1", "Certificate", &name, Some(namespace));
        certificate["spec"] = json!({
            "secretName": name,
            "commonName": common_name(&service, namespace),
            "dnsNames": names(&service, namespace),
            "usages": ["server auth"],
            "issuerRef": {"name": issuer_name},
            "duration": DURATION,
            "renewBefore": RENEW_BEFORE,
        });
        found.extend([issuer, certificate]);
    }
    found
}

/// Returns the common name of a certificate, which has at most 64 characters.
fn common_name(service: &str, namespace: &str) -> String {
    let name = format!("{service}.{namespace}");
    if name.len() <= 64 { name } else { service.to_owned() }
}
