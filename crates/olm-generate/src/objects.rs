//! The objects of the input that are files of the bundle, and how these files are named.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::certificates::Certificates;
use super::error::Error;
use super::input::{Collected, Item, meant};
use super::json::{entries, string_at};
use super::rbac::Rbac;
use super::report::{GenerateReport, ObjectOutcome};
use kube_yaml::emit_within;
use olm_model::bundle::is_installable;

/// The maximum size of a manifest, in bytes: that of the files that this tool reads. The API server reads objects of at
/// most 3 MiB.
pub(crate) const MAX_FILE_SIZE: usize = 32 << 20;
/// The maximum length of a file name, in bytes, on the common file systems.
const MAX_FILE_NAME: usize = 255;

/// Returns all files but the CSV: name to YAML.
///
/// # Errors
/// A name exceeds [`MAX_FILE_NAME`].
pub(crate) fn files<'c>(
    collected: &'c Collected,
    rbac: &Rbac<'_>,
    certificates: &Certificates<'_>,
    is_of_sdk: bool,
    report: &mut GenerateReport,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let objects = collected.services.iter().chain(&collected.others).chain(rbac.rest.iter().copied());
    for item in objects.filter(|item| is_installable(item.kind())) {
        if let Some(namespace) = collected.foreign_namespace(item) {
            let title = report.title(item.source);
            report.warn(
                item.source,
                format!(
                    "{title} is in namespace `{}`, but OLM installs the objects of a bundle in the operator's namespace",
                    namespace.escape_debug()
                ),
            );
        }
    }
    let group_and_kind = |definition: &'c Item| {
        (
            string_at(&definition.json, &["spec", "group"]),
            string_at(&definition.json, &["spec", "names", "kind"]),
        )
    };
    let definitions: HashMap<(&str, &str), &Item> =
        collected.definitions().map(|definition| (group_and_kind(definition), definition)).collect();
    let mut files = Files { is_of_sdk, ..Files::default() };
    for definition in collected.definitions() {
        let (group, plural) = (
            string_at(&definition.json, &["spec", "group"]),
            string_at(&definition.json, &["spec", "names", "plural"]),
        );
        let name = if group.is_empty() || plural.is_empty() {
            file_name(definition)
        } else {
            format!("{group}_{plural}.yaml")
        };
        files.add(&name, definition, report)?;
    }
    for service in &collected.services {
        files.add(&file_name(service), service, report)?;
    }
    for other in &collected.others {
        if is_installable(other.kind()) {
            if other.kind() == "ClusterServiceVersion" {
                report.warn(
                    other.source,
                    format!(
                        "expected apiVersion operators.coreos.com/v1alpha1 of a ClusterServiceVersion, found `{}`: it is not \
                         the base, and a bundle with two is rejected",
                        other.api_version().escape_debug()
                    ),
                );
            }
            files.add(&file_name(other), other, report)?;
        } else if report.sources[other.source].outcomes.is_empty() {
            omit(other, &definitions, certificates, report);
        }
    }
    for item in &rbac.rest {
        files.add(&file_name(item), item, report)?;
    }
    Ok(files.list)
}

fn omit(
    item: &Item,
    definitions: &HashMap<(&str, &str), &Item>,
    certificates: &Certificates<'_>,
    report: &mut GenerateReport,
) {
    // Inputs of kustomize and Helm are not manifests.
    let is_tooling = matches!(item.kind(), "Kustomization" | "Component" | "Chart");
    let title = report.title(item.source);
    let is_of_certificates = item.api_version().starts_with("cert-manager.io/");
    let is_issuer = is_of_certificates && matches!(item.kind(), "Issuer" | "ClusterIssuer");
    if is_tooling {
        report.record(item.source, ObjectOutcome::Omitted("it configures a tool, not a cluster".to_owned()));
    } else if is_issuer || certificates.is_replaced(item) {
        report.record(
            item.source,
            ObjectOutcome::Omitted("OLM creates the certificates of webhooks".to_owned()),
        );
    } else if item.kind() == "Namespace" {
        report.record(
            item.source,
            ObjectOutcome::Omitted("the namespace is chosen when the operator is installed".to_owned()),
        );
        let labels = entries(&item.json, &["metadata", "labels"]).into_iter().flatten();
        let meaning = ["pod-security.kubernetes.io/", "openshift.io/", "security.openshift.io/"];
        let labels: Vec<&str> = labels
            .map(|(key, _)| key.as_str())
            .filter(|key| meaning.iter().any(|prefix| key.starts_with(prefix)))
            .collect();
        if let [label, ..] = labels[..] {
            report.warn(
                item.source,
                format!(
                    "{title} was omitted with its label `{}`: the namespace is chosen when the operator is installed; suggest one \
                     with the annotation operatorframework.io/suggested-namespace-template of the CSV",
                    label.escape_debug()
                ),
            );
        }
    } else if let Some(definition) = definition_of(item, definitions) {
        let version = item.api_version().split_once('/').map_or("", |(_, version)| version);
        let reason = format!(
            "{} does not serve version `{}`",
            report.title(definition.source),
            version.escape_debug()
        );
        report.warn(item.source, format!("{title} was omitted: {reason}"));
        report.record(item.source, ObjectOutcome::Omitted(reason));
    } else if let Some(meant) = meant(item) {
        let reason = format!("unknown kind `{}`: did you mean `{meant}`?", item.kind());
        report.warn(item.source, format!("{title} was omitted: {reason}"));
        report.record(item.source, ObjectOutcome::Omitted(reason));
    } else {
        report.record(
            item.source,
            ObjectOutcome::Omitted(format!("OLM does not support {} in a bundle", item.kind())),
        );
        report.warn(
            item.source,
            format!("{title} was omitted: OLM does not support {} in a bundle", item.kind()),
        );
    }
}

/// Returns the definition of a custom resource's kind.
fn definition_of<'c>(item: &Item, definitions: &HashMap<(&str, &str), &'c Item>) -> Option<&'c Item> {
    let (group, _) = item.api_version().split_once('/')?;
    definitions.get(&(group, item.kind())).copied()
}

#[derive(Default)]
struct Files {
    /// Whether the files are those of operator-sdk.
    is_of_sdk: bool,
    list: Vec<(String, Vec<u8>)>,
    names: HashSet<String>,
    duplicates: usize,
}

impl Files {
    fn add(&mut self, name: &str, item: &Item, report: &mut GenerateReport) -> Result<(), Error> {
        // A name of an object may hold what the name of a file must not.
        let is_separator =
            |char: char| matches!(char, '/' | '\\' | '\u{2028}' | '\u{2029}') || char.is_control();
        let mut name = name.replace(is_separator, "_");
        if item.name().is_empty() {
            let title = report.title(item.source);
            report.warn(item.source, format!("{title} has no metadata.name, so OLM cannot install it"));
        }
        if name.starts_with('.') {
            name.insert(0, '_');
        }
        if self.names.contains(&name) {
            name = format!("dup{}_{name}", self.duplicates);
            self.duplicates += 1;
            let title = report.title(item.source);
            report.warn(
                item.source,
                format!("duplicate {title}: a bundle has one namespace, so only one of them is installed"),
            );
        }
        if name.len() > MAX_FILE_NAME {
            return Err(Error::FileName {
                place: report.place(item.source),
                title: report.title(item.source),
                limit: MAX_FILE_NAME,
            });
        }
        report.record(item.source, ObjectOutcome::File(format!("manifests/{name}")));
        self.names.insert(name.clone());
        let mut json = placeless(&item.json);
        if self.is_of_sdk {
            add_unset_fields(&mut json, &item.status);
        } else {
            let removed = remove_system_fields(&mut json);
            if !removed.is_empty() {
                let title = report.title(item.source);
                let message = format!(
                    "{title}: omitted {}, which belongs to the cluster that the object was read from",
                    removed.join(", ")
                );
                report.warn(item.source, message);
            }
        }
        let text = emit_within(&json, MAX_FILE_SIZE)
            .ok_or_else(|| Error::FileSize { title: report.title(item.source), limit: MAX_FILE_SIZE })?;
        self.list.push((name, text.into_bytes()));
        Ok(())
    }
}

/// Adds the fields that operator-sdk writes although they are not set: those of the Go types that it decodes objects into.
///
/// Source: `GetManifestObjects` in `internal/cmd/operator-sdk/generate/internal/manifests.go` of operator-sdk v1.42, with the types of
/// k8s.io/api 0.33.
fn add_unset_fields(json: &mut Json, written: &Json) {
    let mut names = serde_json::json!({ "kind": "", "plural": "" });
    if let (Some(all), Some(found)) = (names.as_object_mut(), written["acceptedNames"].as_object()) {
        all.extend(found.clone());
    }
    let status = match (string_at(json, &["apiVersion"]), string_at(json, &["kind"])) {
        (_, "CustomResourceDefinition") => Some(serde_json::json!({
            "acceptedNames": names,
            "conditions": written["conditions"],
            "storedVersions": written["storedVersions"],
        })),
        ("v1", "Service") => Some(serde_json::json!({ "loadBalancer": {} })),
        (_, "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding") | ("v1", "ServiceAccount") => None,
        _ => return,
    };
    let Some(object) = json.as_object_mut() else { return };
    if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.insert("creationTimestamp".to_owned(), Json::Null);
    }
    if let Some(status) = status {
        object.entry("status").or_insert(status);
    }
}

/// Removes what only the API server sets, as objects have that are read from a cluster: OLM could not create the object with it, or the
/// garbage collector would delete it. Returns the paths that were removed.
fn remove_system_fields(json: &mut Json) -> Vec<String> {
    const FIELDS: [&str; 7] = [
        "resourceVersion",
        "uid",
        "generation",
        "selfLink",
        "managedFields",
        "deletionTimestamp",
        "ownerReferences",
    ];
    let Some(metadata) = json.get_mut("metadata").and_then(Json::as_object_mut) else { return Vec::new() };
    let mut removed: Vec<String> = FIELDS
        .into_iter()
        .filter(|field| metadata.shift_remove(*field).is_some())
        .map(|field| format!("metadata.{field}"))
        .collect();
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Json::as_object_mut) {
        let applied = annotations.shift_remove("kubectl.kubernetes.io/last-applied-configuration");
        removed.extend(applied.map(|_| "kubectl.kubernetes.io/last-applied-configuration".to_owned()));
        if annotations.is_empty() {
            metadata.shift_remove("annotations");
        }
    }
    removed
}

/// The object without the namespace, which OLM chooses.
fn placeless(json: &Json) -> Json {
    let mut json = json.clone();
    if let Some(metadata) = json.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.shift_remove("namespace");
        metadata.shift_remove("creationTimestamp");
    }
    json
}

fn file_name(item: &Item) -> String {
    let kind = item.kind().to_lowercase();
    match item.api_version().split_once('/') {
        Some((group, version)) => format!("{}_{group}_{version}_{kind}.yaml", item.name()),
        None => format!("{}_{}_{kind}.yaml", item.name(), item.api_version()),
    }
}
