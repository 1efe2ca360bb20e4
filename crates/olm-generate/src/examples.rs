//! Custom resources of the input into the annotation `alm-examples`, which consoles offer as samples.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::crds;
use super::input::Collected;
use super::json::items;
use super::report::{GenerateReport, ObjectOutcome};
use kube_yaml::go_json::pretty;

/// The annotation's text: all objects of a kind that a definition of the input serves.
pub(crate) fn annotation(collected: &Collected, base: &str, report: &mut GenerateReport) -> String {
    let served: HashSet<(String, &str)> = crds::served(collected)
        .into_iter()
        .map(|version| (format!("{}/{}", version.group, version.version), version.kind))
        .collect();
    let mut examples = Vec::new();
    for item in &collected.others {
        if served.contains(&(item.api_version().to_owned(), item.kind())) {
            report.record(item.source, ObjectOutcome::Csv("metadata.annotations[alm-examples]".to_owned()));
            examples.push(item.json.clone());
        }
    }
    if examples.is_empty()
        && let Ok(old) = kube_yaml::json::from_str::<Json>(base)
        && !items(&old, &[]).is_empty()
    {
        report.warn_at(
            None,
            "alm-examples of the base CSV were omitted: they are generated from custom resources in the input, and there are \
             none; add each example to the input as a manifest",
        );
    }
    pretty(&Json::Array(examples))
}
