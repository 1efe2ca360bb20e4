//! Adds CRDs to `spec.customresourcedefinitions.owned`, with the entries of the base.

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::input::{Collected, Item};
use super::json::{dig, items, string_at};
use super::report::{GenerateReport, ObjectOutcome};

/// One served version of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ServedVersion<'c> {
    pub(crate) group: &'c str,
    pub(crate) kind: &'c str,
    /// The definition's name.
    pub(crate) name: &'c str,
    pub(crate) version: &'c str,
}

/// The served versions of all definitions, in reading order, those of v1 first.
pub(crate) fn served(collected: &Collected) -> Vec<ServedVersion<'_>> {
    collected.definitions().flat_map(versions).collect()
}

fn versions(definition: &Item) -> Vec<ServedVersion<'_>> {
    let of = |version| ServedVersion {
        group: string_at(&definition.json, &["spec", "group"]),
        kind: string_at(&definition.json, &["spec", "names", "kind"]),
        name: definition.name(),
        version,
    };
    let versions = items(&definition.json, &["spec", "versions"]);
    if versions.is_empty() {
        // v1beta1 may name its only version so.
        return match string_at(&definition.json, &["spec", "version"]) {
            "" => Vec::new(),
            version => vec![of(version)],
        };
    }
    versions
        .iter()
        .filter(|version| dig(version, &["served"]) == &Json::Bool(true))
        .map(|version| of(string_at(version, &["name"])))
        .collect()
}

/// `owned`: one entry for each served version; an entry of the base for the same name, version and kind is kept.
pub(crate) fn owned(collected: &Collected, base: &Json, report: &mut GenerateReport) -> Vec<Json> {
    let described = items(base, &["spec", "customresourcedefinitions", "owned"]);
    let key = |entry: &Json| {
        [
            string_at(entry, &["name"]).to_owned(),
            string_at(entry, &["version"]).to_owned(),
            string_at(entry, &["kind"]).to_owned(),
        ]
    };
    let by_key: HashMap<[String; 3], &Json> = described.iter().map(|entry| (key(entry), entry)).collect();
    let mut used = HashSet::new();
    let mut owned = Vec::new();
    for definition in collected.definitions() {
        let versions = versions(definition);
        if versions.is_empty() {
            let title = report.title(definition.source);
            report.warn(
                definition.source,
                format!("{title} has no served version, so the CSV does not own it"),
            );
        } else {
            report
                .record(definition.source, ObjectOutcome::Csv("customresourcedefinitions.owned".to_owned()));
        }
        for version in versions {
            let entry = json!({"kind": version.kind, "name": version.name, "version": version.version});
            let key = key(&entry);
            owned.push(by_key.get(&key).map_or(entry, |entry| (*entry).clone()));
            used.insert(key);
        }
    }
    for entry in described.iter().filter(|entry| !used.contains(&key(entry))) {
        let [name, version, kind] = key(entry);
        report.warn_at(
            None,
            format!(
                "the base CSV owns {kind} {version} of CRD `{}`, but no CRD in the input serves it: the entry was omitted",
                name.escape_debug()
            ),
        );
    }
    owned
}
