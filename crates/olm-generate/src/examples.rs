//! Custom resources of the input into the annotation `alm-examples`, which consoles offer as samples.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::crds;
use super::input::Collected;
use super::json::{items, string_at};
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
    let is_none = |old: &Json| old.is_null() || old.as_array().is_some_and(Vec::is_empty);
    if examples.is_empty()
        && !base.trim().is_empty()
        && !kube_yaml::json::from_str::<Json>(base).is_ok_and(|old| is_none(&old))
    {
        report.warn_at(
            None,
            "alm-examples of the base CSV were omitted: they are generated from custom resources in the input, and there are \
             none; add each example to the input as a manifest",
        );
    }
    if !examples.is_empty() {
        warn_of_lost_examples(&examples, base, report);
    }
    pretty(&Json::Array(examples))
}

/// Warns about examples of the base that those of the input replace.
fn warn_of_lost_examples(examples: &[Json], base: &str, report: &mut GenerateReport) {
    let key = |example: &Json| {
        let path: [&[&str]; 3] = [&["apiVersion"], &["kind"], &["metadata", "name"]];
        path.map(|keys| string_at(example, keys).to_owned())
    };
    let generated: HashSet<[String; 3]> = examples.iter().map(key).collect();
    let Ok(old) = kube_yaml::json::from_str::<Json>(base) else { return };
    for example in items(&old, &[]).iter().filter(|example| !generated.contains(&key(example))) {
        let [_, kind, name] = key(example);
        report.warn_at(
            None,
            format!(
                "alm-examples of the base CSV has {} `{}`, which is not in the input: it was omitted; add it to the input as a \
                 manifest",
                kind.escape_debug(),
                name.escape_debug()
            ),
        );
    }
}
