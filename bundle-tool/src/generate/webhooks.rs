//! Webhook configurations and conversions into `spec.webhookdefinitions`, each with the Deployment that answers it.
//!
//! Source: `applyWebhooks` of operator-framework/operator-sdk.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::input::{Collected, Item};
use super::json::{dig, entries, items, set, text};
use super::ledger::{Fate, Ledger};

/// The port of a service that a webhook calls where it names none.
const DEFAULT_PORT: i64 = 443;
/// What a webhook is taken to speak that does not say it.
const DEFAULT_REVIEW: &str = "v1beta1";
/// What a webhook's description has in common with the webhook itself.
const COMMON: [&str; 5] = ["failurePolicy", "matchPolicy", "objectSelector", "rules", "timeoutSeconds"];

/// All descriptions, sorted by name.
pub(super) fn definitions(collected: &Collected, ledger: &mut Ledger) -> Vec<Json> {
    let mut found = Vec::new();
    let configurations = collected
        .validating
        .iter()
        .map(|item| (item, "ValidatingAdmissionWebhook"))
        .chain(collected.mutating.iter().map(|item| (item, "MutatingAdmissionWebhook")));
    for (item, kind) in configurations {
        ledger.fate(item.source, Fate::Csv("webhookdefinitions".to_owned()));
        for webhook in items(&item.json, &["webhooks"]) {
            found.push(admission(collected, item, webhook, kind, ledger));
        }
    }
    for service in &collected.services {
        conversions(collected, service, &mut found, ledger);
    }
    orphans(collected, ledger);
    found.sort_by(|a, b| text(a, &["generateName"]).cmp(text(b, &["generateName"])));
    found
}

fn admission(collected: &Collected, item: &Item, webhook: &Json, kind: &str, ledger: &mut Ledger) -> Json {
    let name = text(webhook, &["name"]);
    let mut description = Map::new();
    description.insert("type".to_owned(), kind.into());
    description.insert("generateName".to_owned(), name.into());
    for field in COMMON {
        set(&mut description, field, dig(webhook, &[field]).clone());
    }
    if kind == "MutatingAdmissionWebhook" {
        set(&mut description, "reinvocationPolicy", dig(webhook, &["reinvocationPolicy"]).clone());
    }
    let reviews = match items(webhook, &["admissionReviewVersions"]) {
        [] => vec![DEFAULT_REVIEW.into()],
        versions => versions.to_vec(),
    };
    description.insert("admissionReviewVersions".to_owned(), Json::Array(reviews));
    let effects = match dig(webhook, &["sideEffects"]) {
        Json::Null => "None".into(),
        effects => effects.clone(),
    };
    description.insert("sideEffects".to_owned(), effects);
    if dig(webhook, &["namespaceSelector"]).as_object().is_some_and(|selector| !selector.is_empty()) {
        ledger.warn(
            item.source,
            format!(
                "webhook {name}: namespaceSelector was left out: OLM sets its own from the OperatorGroup"
            ),
        );
    }
    if !items(webhook, &["matchConditions"]).is_empty() {
        ledger.warn(
            item.source,
            format!("webhook {name}: matchConditions were left out: a CSV has no place for them"),
        );
    }

    let reference = dig(webhook, &["clientConfig", "service"]);
    if !reference.is_object() {
        ledger.warn(
            item.source,
            format!("webhook {name} calls an address outside the cluster, which a CSV cannot express"),
        );
        return Json::Object(description);
    }
    let service_name = text(reference, &["name"]);
    let service = collected.services.iter().find(|service| service.name() == service_name);
    let deployment =
        service.filter(|service| is_selecting(service)).and_then(|service| answering(collected, service));
    match (service, deployment) {
        (None, _) => ledger.warn(
            item.source,
            format!("webhook {name} calls the Service {service_name:?}, which the input does not hold"),
        ),
        (Some(_), None) => ledger.warn(
            item.source,
            format!(
                "webhook {name}: the Service {service_name:?} selects the pods of no Deployment of the input"
            ),
        ),
        (Some(service), Some(_)) => {
            ledger.fate(service.source, Fate::Csv("webhookdefinitions".to_owned()));
        }
    }
    ports(&mut description, service, dig(reference, &["port"]).as_i64());
    description.insert("deploymentName".to_owned(), deployment.unwrap_or_else(|| guess(service_name)).into());
    if let Some(path) = dig(reference, &["path"]).as_str() {
        description.insert("webhookPath".to_owned(), path.into());
    }
    Json::Object(description)
}

/// Where nothing else is known, a Deployment is taken to be named as its Service.
fn guess(service: &str) -> &str {
    service.strip_suffix("-service").unwrap_or(service)
}

fn ports(description: &mut Map<String, Json>, service: Option<&Item>, wanted: Option<i64>) {
    let wanted = wanted.unwrap_or(DEFAULT_PORT);
    let ports = service.map(|service| items(&service.json, &["spec", "ports"])).unwrap_or_default();
    if let Some(port) = ports.iter().find(|port| dig(port, &["port"]).as_i64() == Some(wanted)) {
        description.insert("containerPort".to_owned(), wanted.into());
        description.insert(
            "targetPort".to_owned(),
            match dig(port, &["targetPort"]) {
                Json::Null => 0.into(),
                target => target.clone(),
            },
        );
    }
}

/// Whether a Service finds its pods by labels.
fn is_selecting(service: &Item) -> bool {
    text(&service.json, &["spec", "type"]) != "ExternalName"
        && entries(&service.json, &["spec", "selector"]).is_some_and(|selector| !selector.is_empty())
}

/// The first Deployment whose pods have all labels that a Service asks for.
fn answering<'c>(collected: &'c Collected, service: &Item) -> Option<&'c str> {
    collected
        .deployments
        .iter()
        .find(|deployment| {
            let labels = entries(&deployment.json, &["spec", "template", "metadata", "labels"]);
            let Some(labels) = labels.filter(|labels| !labels.is_empty()) else { return false };
            entries(&service.json, &["spec", "selector"])
                .is_none_or(|selector| selector.iter().all(|(key, value)| labels.get(key) == Some(value)))
        })
        .map(Item::name)
}

/// How a definition is converted.
struct Conversion<'c> {
    definition: &'c str,
    source: usize,
    service: &'c str,
    path: &'c str,
    port: Option<i64>,
    reviews: &'c [Json],
}

fn conversion(item: &Item) -> Option<Conversion<'_>> {
    let spec = dig(&item.json, &["spec", "conversion"]);
    // v1 has one more level than v1beta1, which knows no port here.
    let (reference, reviews, port) = match dig(spec, &["webhook", "clientConfig", "service"]) {
        Json::Null => {
            (dig(spec, &["webhookClientConfig", "service"]), items(spec, &["conversionReviewVersions"]), None)
        }
        reference => {
            let reviews = items(spec, &["webhook", "conversionReviewVersions"]);
            (reference, reviews, dig(reference, &["port"]).as_i64())
        }
    };
    reference.is_object().then(|| Conversion {
        definition: item.name(),
        source: item.source,
        service: text(reference, &["name"]),
        path: text(reference, &["path"]),
        port,
        reviews,
    })
}

/// The descriptions of the conversions that a Service answers: one for all definitions with the same path, but one
/// for each that names a port.
fn conversions(collected: &Collected, service: &Item, found: &mut Vec<Json>, ledger: &mut Ledger) {
    let mut groups: BTreeMap<(&str, Option<&str>), Vec<Conversion<'_>>> = BTreeMap::new();
    for conversion in collected.definitions().filter_map(conversion) {
        if conversion.service == service.name() && !conversion.service.is_empty() {
            let alone = conversion.port.map(|_| conversion.definition);
            groups.entry((conversion.path, alone)).or_default().push(conversion);
        }
    }
    for ((path, _), mut group) in groups {
        group.sort_by_key(|conversion| conversion.definition);
        let first = &group[0];
        let mut description = Map::new();
        description.insert("type".to_owned(), "ConversionWebhook".into());
        description.insert("sideEffects".to_owned(), "None".into());
        description.insert("admissionReviewVersions".to_owned(), Json::Array(first.reviews.to_vec()));
        description.insert("webhookPath".to_owned(), path.into());
        let names: Vec<&str> = group.iter().map(|conversion| conversion.definition).collect();
        description.insert("generateName".to_owned(), generate_name(&names).into());
        description.insert("conversionCRDs".to_owned(), json!(names));
        ports(&mut description, Some(service), first.port);
        let deployment = answering(collected, service);
        if deployment.is_none() {
            ledger.warn(
                first.source,
                format!(
                    "the conversion of {}: the Service {:?} selects the pods of no Deployment of the input",
                    first.definition,
                    service.name()
                ),
            );
        }
        let deployment = deployment.unwrap_or_else(|| guess(service.name()));
        description.insert("deploymentName".to_owned(), deployment.into());
        for conversion in &group {
            ledger.fate(conversion.source, Fate::Csv("webhookdefinitions".to_owned()));
        }
        ledger.fate(service.source, Fate::Csv("webhookdefinitions".to_owned()));
        found.push(Json::Object(description));
    }
}

/// `cmemcacheds.kb.io` of `memcacheds.cache.example.com`.
fn generate_name(definitions: &[&str]) -> String {
    let plurals: String = definitions.iter().filter_map(|name| name.split('.').next()).collect();
    format!("c{plurals}.kb.io")
}

/// Names the conversions whose Service the input does not hold.
fn orphans(collected: &Collected, ledger: &mut Ledger) {
    for conversion in collected.definitions().filter_map(conversion) {
        if !collected.services.iter().any(|service| service.name() == conversion.service) {
            ledger.warn(
                conversion.source,
                format!(
                    "the conversion of {} is answered by the Service {:?}, which the input does not hold: \
                     the CSV has no webhook for it",
                    conversion.definition, conversion.service
                ),
            );
        }
    }
}
