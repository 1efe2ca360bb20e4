//! The objects of the input that are files of the bundle, and how these files are named.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::error::Error;
use super::input::{Collected, Item};
use super::json::text;
use super::ledger::{Fate, Ledger};
use super::rbac::Rbac;
use crate::model::bundle::is_installable;
use crate::model::yaml::emit_within;

/// The maximum size of a manifest, in bytes: that of the files that this tool reads. The API server reads objects of at
/// most 3 MiB.
pub(super) const MAX_FILE_SIZE: usize = 32 << 20;
/// The maximum length of a file name, in bytes, on the common file systems.
const MAX_FILE_NAME: usize = 255;

/// Returns all files but the CSV: name to YAML.
///
/// # Errors
/// A name exceeds [`MAX_FILE_NAME`].
pub(super) fn files(
    collected: &Collected,
    rbac: &Rbac<'_>,
    ledger: &mut Ledger,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut files = Files::default();
    for definition in collected.definitions() {
        let (group, plural) = (
            text(&definition.json, &["spec", "group"]),
            text(&definition.json, &["spec", "names", "plural"]),
        );
        let name = if group.is_empty() || plural.is_empty() {
            file_name(definition)
        } else {
            format!("{group}_{plural}.yaml")
        };
        files.add(&name, definition, ledger)?;
    }
    for service in &collected.services {
        files.add(&file_name(service), service, ledger)?;
    }
    for other in &collected.others {
        if is_installable(other.kind()) {
            if other.kind() == "ClusterServiceVersion" {
                ledger.warn(
                    other.source,
                    format!(
                        "expected apiVersion operators.coreos.com/v1alpha1 of a ClusterServiceVersion, found `{}`: it is not \
                         the base, and a bundle with two is rejected",
                        other.api_version().escape_debug()
                    ),
                );
            }
            files.add(&file_name(other), other, ledger)?;
        } else if ledger.sources[other.source].fates.is_empty() {
            omit(other, ledger);
        }
    }
    for item in &rbac.rest {
        files.add(&file_name(item), item, ledger)?;
    }
    Ok(files.list)
}

fn omit(item: &Item, ledger: &mut Ledger) {
    // Inputs of kustomize and Helm are not manifests.
    let is_tooling = matches!(item.kind(), "Kustomization" | "Component" | "Chart");
    let title = ledger.title(item.source);
    if is_tooling {
        ledger.fate(item.source, Fate::Omitted("it configures a tool, not a cluster".to_owned()));
    } else if item.api_version().starts_with("cert-manager.io/") {
        ledger.fate(item.source, Fate::Omitted("OLM creates the certificates of webhooks".to_owned()));
    } else if item.kind() == "Namespace" {
        ledger.fate(
            item.source,
            Fate::Omitted("the namespace is chosen when the operator is installed".to_owned()),
        );
    } else {
        ledger.fate(item.source, Fate::Omitted(format!("OLM does not support {} in a bundle", item.kind())));
        ledger.warn(
            item.source,
            format!("{title} was omitted: OLM does not support {} in a bundle", item.kind()),
        );
    }
}

#[derive(Default)]
struct Files {
    list: Vec<(String, Vec<u8>)>,
    names: HashSet<String>,
    duplicates: usize,
}

impl Files {
    fn add(&mut self, name: &str, item: &Item, ledger: &mut Ledger) -> Result<(), Error> {
        // A name of an object may hold what the name of a file must not.
        let mut name = name.replace(['/', '\\', '\0'], "_");
        if self.names.contains(&name) {
            name = format!("dup{}_{name}", self.duplicates);
            self.duplicates += 1;
            let title = ledger.title(item.source);
            ledger.warn(
                item.source,
                format!("duplicate {title}: a bundle has one namespace, so only one of them is installed"),
            );
        }
        if name.len() > MAX_FILE_NAME {
            return Err(Error::FileName {
                place: ledger.place(item.source),
                title: ledger.title(item.source),
                limit: MAX_FILE_NAME,
            });
        }
        ledger.fate(item.source, Fate::File(format!("manifests/{name}")));
        self.names.insert(name.clone());
        let text = emit_within(&placeless(&item.json), MAX_FILE_SIZE)
            .ok_or_else(|| Error::FileSize { title: ledger.title(item.source), limit: MAX_FILE_SIZE })?;
        self.list.push((name, text.into_bytes()));
        Ok(())
    }
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
