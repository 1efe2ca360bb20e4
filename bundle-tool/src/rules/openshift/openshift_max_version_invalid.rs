use serde_json::Value as Json;

use crate::model::version::{self, Version};
use crate::model::yaml::Value;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "openshift-max-version-invalid",
    suite: Suite::Openshift,
    severity: Severity::Warning,
    what: "The property `olm.maxOpenShiftVersion` is not a version of two numbers, or is set more than once.",
    impacts: &[Impact::Specific(
        "OLM reports that the cluster cannot be upgraded to the next minor version of OpenShift.",
    )],
    help: "set the property once, to the last supported version, such as `\"4.16\"`",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/operators/openshift/helpers.go",
        &["maxOpenShiftVersion"],
    )
    .since("0.18")],
    check: Check::Bundle(check),
};

const KIND: &str = "olm.maxOpenShiftVersion";

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let mut found = 0;
    // OLM adds the properties of the file to those of the annotation.
    if let Some((file, items)) = context.bundle.metadata_list("properties") {
        let list = root.field("properties");
        for (index, item) in items.items().enumerate() {
            if item.get("type").and_then(Value::as_str) != Some(KIND) {
                continue;
            }
            found += 1;
            let value = item.get("value");
            let entry = list.index(index);
            let path = entry.field("value");
            let position = value.map_or(item.position(), Value::position);
            if let Some(message) = wrong(value.map(Value::text).unwrap_or_default(), found) {
                reporter.at(file, &path.to_string(), position, message);
            }
        }
    }
    for csv in &context.csvs {
        let annotation = csv.typed.metadata.annotations.iter().find_map(|all| all.get("olm.properties"));
        let properties = annotation.and_then(|text| serde_json::from_str::<Json>(text).ok());
        for property in properties.iter().filter_map(Json::as_array).flatten() {
            if property["type"] != KIND {
                continue;
            }
            found += 1;
            let value = match &property["value"] {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            if let Some(message) = wrong(&value, found) {
                let annotations = root.field("metadata.annotations");
                reporter.field(&csv.object, &annotations.key("olm.properties"), message);
            }
        }
    }
}

fn wrong(value: &str, found: usize) -> Option<String> {
    if found > 1 {
        return Some(format!("duplicate property `{KIND}`"));
    }
    let value = value.trim_matches('"');
    match version::tolerant(value) {
        Ok(version) if version == Version::new(version.major, version.minor, 0) => None,
        Ok(_) => Some(format!("invalid OpenShift version `{value}`: expected two numbers, such as `4.16`")),
        Err(error) => Some(format!("invalid OpenShift version `{value}`: {error}")),
    }
}
