use serde_json::Value as Json;

use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-properties-invalid",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "The annotation `olm.properties` of the CSV is not a JSON list of properties, each with type and value.",
    impacts: &[Impact::OlmV1Rejects],
    help: "write the annotation as a JSON list, or move the properties to metadata/properties.yaml",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/bundle/source/source.go",
        &["copyMetadataPropertiesToCSV"],
    )
    .since("1.0")],
    check: Check::Csv(check),
};

const KEY: &str = "olm.properties";

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Some(text) = csv.typed.metadata.annotations.as_ref().and_then(|all| all.get(KEY)) else { return };
    let message = match kube_yaml::json::from_str::<Json>(text) {
        Err(error) => format!("invalid JSON: {error}"),
        Ok(Json::Null) => return,
        Ok(Json::Array(items)) => {
            let is_property = |item: &Json| {
                item["type"].as_str().is_some_and(|kind| !kind.is_empty()) && item.get("value").is_some()
            };
            match items.iter().position(|item| !is_property(item)) {
                None => return,
                Some(index) => format!("invalid property {index}: expected a map with `type` and `value`"),
            }
        }
        Ok(_) => "expected a list of properties".to_owned(),
    };
    let root = Path::ROOT;
    let annotations = root.field("metadata.annotations");
    reporter.field(&csv.object, &annotations.key(KEY), message);
}
