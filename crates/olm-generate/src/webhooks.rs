//! Webhook configurations and conversions into `spec.webhookdefinitions`, each with the Deployment that answers it.
//!
//! Source: `applyWebhooks` of operator-framework/operator-sdk.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value as Json, json};

use super::input::{Collected, Item};
use super::json::{dig, entries, items, set, string_at};
use super::report::{GenerateReport, ObjectOutcome};

/// The port of a service that a webhook calls where it names none.
const DEFAULT_PORT: i64 = 443;
/// What a webhook is taken to speak that does not say it.
const DEFAULT_REVIEW: &str = "v1beta1";
/// What a webhook's description has in common with the webhook itself.
const COMMON: [&str; 5] = ["failurePolicy", "matchPolicy", "objectSelector", "rules", "timeoutSeconds"];

/// All descriptions, sorted by name.
pub(crate) fn definitions(collected: &Collected, report: &mut GenerateReport) -> Vec<Json> {
    let mut found = Vec::new();
    let endpoints = Endpoints::new(collected);
    let configurations = collected
        .validating
        .iter()
        .map(|item| (item, "ValidatingAdmissionWebhook"))
        .chain(collected.mutating.iter().map(|item| (item, "MutatingAdmissionWebhook")));
    for (item, kind) in configurations {
        report.record(item.source, ObjectOutcome::Csv("webhookdefinitions".to_owned()));
        for webhook in items(&item.json, &["webhooks"]) {
            found.push(admission(&endpoints, item, webhook, kind, report));
        }
    }
    conversions(collected, &endpoints, &mut found, report);
    found.sort_by(|a, b| string_at(a, &["generateName"]).cmp(string_at(b, &["generateName"])));
    found
}

/// The Services of the input by name, and its Deployments by the labels of their pods.
struct Endpoints<'c> {
    deployments: &'c [Item],
    /// The first Service of each name: a bundle has one namespace.
    services: HashMap<&'c str, &'c Item>,
    /// The first Deployment whose pods have labels.
    labelled: Option<usize>,
    /// A label to the Deployments whose pods have it, in order.
    by_label: HashMap<(&'c str, &'c str), Labelled>,
}

/// The Deployments whose pods have a label.
#[derive(Default)]
struct Labelled {
    positions: Vec<usize>,
    /// One bit for each Deployment, where many have the label.
    bits: Vec<u64>,
}

impl<'c> Endpoints<'c> {
    fn new(collected: &'c Collected) -> Self {
        let mut services = HashMap::new();
        for service in &collected.services {
            services.entry(service.name()).or_insert(service);
        }
        let mut by_label: HashMap<_, Labelled> = HashMap::new();
        let mut labelled = None;
        for (at, deployment) in collected.deployments.iter().enumerate() {
            let labels = entries(&deployment.json, &["spec", "template", "metadata", "labels"]);
            for (key, value) in labels.into_iter().flatten() {
                labelled.get_or_insert(at);
                let label = (key.as_str(), value.as_str().unwrap_or_default());
                by_label.entry(label).or_default().positions.push(at);
            }
        }
        let words = collected.deployments.len().div_ceil(64);
        for Labelled { positions, bits } in
            by_label.values_mut().filter(|label| label.positions.len() > words)
        {
            bits.resize(words, 0);
            for at in positions {
                bits[*at / 64] |= 1 << (*at % 64);
            }
        }
        Self { deployments: &collected.deployments, services, labelled, by_label }
    }

    /// Returns the names of the first Deployment whose pods have all labels that a Service selects, and of the next one.
    ///
    /// Takes time in proportion to the number of labels and a 64th of the number of Deployments.
    fn answering(&self, service: &Item) -> Option<(&'c str, Option<&'c str>)> {
        let selector = entries(&service.json, &["spec", "selector"]);
        let mut labels = Vec::new();
        for (key, value) in selector.into_iter().flatten() {
            labels.push(self.by_label.get(&(key.as_str(), value.as_str().unwrap_or_default()))?);
        }
        let (first, second) = match labels.iter().min_by_key(|label| label.positions.len()) {
            None => (self.labelled, None),
            Some(rarest) if rarest.bits.is_empty() => {
                let has = |label: &&&Labelled, at: &usize| match label.bits.get(at / 64) {
                    Some(word) => word >> (at % 64) & 1 == 1,
                    None => label.positions.binary_search(at).is_ok(),
                };
                let mut found =
                    rarest.positions.iter().filter(|at| labels.iter().all(|label| has(&label, at)));
                (found.next().copied(), found.next().copied())
            }
            Some(rarest) => {
                let mut found = (0..rarest.bits.len()).flat_map(|index| {
                    let word = labels.iter().fold(u64::MAX, |word, label| word & label.bits[index]);
                    // Without its lowest bit, the word has the next position.
                    [word, word & word.wrapping_sub(1)]
                        .into_iter()
                        .filter(|word| *word != 0)
                        .map(move |word| index * 64 + word.trailing_zeros() as usize)
                });
                (found.next(), found.next())
            }
        };
        let name = |at: usize| self.deployments.get(at).map(Item::name);
        Some((name(first?)?, second.and_then(name)))
    }
}

fn admission(
    endpoints: &Endpoints<'_>,
    item: &Item,
    webhook: &Json,
    kind: &str,
    report: &mut GenerateReport,
) -> Json {
    let name = string_at(webhook, &["name"]);
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
        report.warn(
            item.source,
            format!("webhook {name}: namespaceSelector was omitted: OLM sets it from the OperatorGroup"),
        );
    }
    if !items(webhook, &["matchConditions"]).is_empty() {
        report.warn(
            item.source,
            format!("webhook {name}: matchConditions were omitted: a CSV does not support them"),
        );
    }

    let reference = dig(webhook, &["clientConfig", "service"]);
    if !reference.is_object() {
        report.warn(item.source, format!("webhook {name} calls a URL, which a CSV does not support"));
        return Json::Object(description);
    }
    let service_name = string_at(reference, &["name"]);
    let service = endpoints.services.get(service_name).copied();
    let deployment =
        service.filter(|service| is_selecting(service)).and_then(|service| endpoints.answering(service));
    match (service, deployment) {
        (None, _) => report.warn(
            item.source,
            format!(
                "webhook {name} calls Service `{}`, which is not in the input",
                service_name.escape_debug()
            ),
        ),
        (Some(_), None) => report.warn(
            item.source,
            format!(
                "webhook {name}: Service `{}` selects the pods of no Deployment in the input",
                service_name.escape_debug()
            ),
        ),
        (Some(service), Some((first, second))) => {
            report.record(service.source, ObjectOutcome::Csv("webhookdefinitions".to_owned()));
            if let Some(second) = second {
                let [service, first, second] = [service_name, first, second].map(str::escape_debug);
                report.warn(
                    item.source,
                    format!(
                        "webhook {name}: Service `{service}` selects the pods of Deployments `{first}` and `{second}`, but the CSV \
                         names only `{first}`; narrow spec.selector of the Service"
                    ),
                );
            }
        }
    }
    let deployment = deployment.map(|(first, _)| first);
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
    string_at(&service.json, &["spec", "type"]) != "ExternalName"
        && entries(&service.json, &["spec", "selector"]).is_some_and(|selector| !selector.is_empty())
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
        service: string_at(reference, &["name"]),
        path: string_at(reference, &["path"]),
        port,
        reviews,
    })
}

/// Adds the descriptions of conversions, in the order of the Services that answer them: one for all definitions with the
/// same path, but one for each that names a port.
fn conversions(
    collected: &Collected,
    endpoints: &Endpoints<'_>,
    found: &mut Vec<Json>,
    report: &mut GenerateReport,
) {
    /// The position of the Service, the path, and the definition where it is alone.
    type Group<'c> = (usize, &'c str, Option<&'c str>);
    let mut groups: BTreeMap<Group<'_>, (&Item, Vec<Conversion<'_>>)> = BTreeMap::new();
    for conversion in collected.definitions().filter_map(conversion) {
        match endpoints.services.get(conversion.service) {
            Some(&service) if !conversion.service.is_empty() => {
                let alone = conversion.port.map(|_| conversion.definition);
                let group = groups.entry((service.source, conversion.path, alone));
                group.or_insert_with(|| (service, Vec::new())).1.push(conversion);
            }
            Some(_) => {}
            None => report.warn(
                conversion.source,
                format!(
                    "the conversion of {} calls Service `{}`, which is not in the input, so the CSV has no webhook for it",
                    conversion.definition,
                    conversion.service.escape_debug()
                ),
            ),
        }
    }
    for ((_, path, _), (service, mut group)) in groups {
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
        let deployment = endpoints.answering(service).map(|(first, _)| first);
        if deployment.is_none() {
            report.warn(
                first.source,
                format!(
                    "the conversion of {}: Service `{}` selects the pods of no Deployment in the input",
                    first.definition,
                    service.name().escape_debug()
                ),
            );
        }
        let deployment = deployment.unwrap_or_else(|| guess(service.name()));
        description.insert("deploymentName".to_owned(), deployment.into());
        for conversion in &group {
            report.record(conversion.source, ObjectOutcome::Csv("webhookdefinitions".to_owned()));
        }
        report.record(service.source, ObjectOutcome::Csv("webhookdefinitions".to_owned()));
        found.push(Json::Object(description));
    }
}

/// `cmemcacheds.kb.io` of `memcacheds.cache.example.com`.
fn generate_name(definitions: &[&str]) -> String {
    let plurals: String = definitions.iter().filter_map(|name| name.split('.').next()).collect();
    format!("c{plurals}.kb.io")
}
