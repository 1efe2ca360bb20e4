use crate::prelude::*;
use kube_yaml::{Kind, Value};
use olm_model::openshift::MAX_OPENSHIFT_VERSION;
use olm_model::version;
use olm_model::version::Version;

pub(crate) static RULE: Rule = Rule {
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

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let mut found = 0;
    // OLM adds the properties of the file to those of the annotation.
    if let Some((file, items)) = context.bundle.metadata_list("properties") {
        let list = root.field("properties");
        for (index, item) in items.items().enumerate() {
            if item.get("type").and_then(Value::as_str) != Some(MAX_OPENSHIFT_VERSION) {
                continue;
            }
            found += 1;
            let value = item.get("value");
            let entry = list.index(index);
            let path = entry.field("value");
            let position = value.map_or(item.position(), Value::position);
            if let Some(message) = wrong(value, found) {
                reporter.fix(value.and_then(|value| quoted(value, &path)));
                reporter.at(file, &path.to_string(), position, message);
            }
        }
    }
    for csv in &context.csvs {
        let annotation = csv.typed.metadata.annotations.iter().find_map(|all| all.get("olm.properties"));
        // JSON is YAML, whose reader keeps numbers as they are written.
        let parsed = annotation.map(|text| kube_yaml::parse(text.as_bytes()));
        let properties = parsed.iter().filter_map(|parsed| parsed.documents.first());
        for property in properties.flat_map(|tree| tree.root().items()) {
            if property.get("type").and_then(Value::as_str) != Some(MAX_OPENSHIFT_VERSION) {
                continue;
            }
            found += 1;
            if let Some(message) = wrong(property.get("value"), found) {
                let annotations = root.field("metadata.annotations");
                reporter.field(&csv.object, &annotations.key("olm.properties"), message);
            }
        }
    }
}

/// Returns the fix for a number that is not the version that is written.
fn quoted(value: Value<'_>, path: &Path<'_>) -> Option<Fix> {
    read_as(value).map(|_| Fix::new(Safety::Safe, path, Change::SetString(value.text().to_owned())))
}

/// Returns the number that a value without quotes is read as, if it is not the version that is written: `4.20` is `4.2`.
fn read_as(value: Value<'_>) -> Option<String> {
    if !matches!(value.kind(), Kind::Number | Kind::Integer) {
        return None;
    }
    let number = value.to_json().to_string();
    (number != value.text()).then_some(number)
}

fn wrong(value: Option<Value<'_>>, found: usize) -> Option<String> {
    if found > 1 {
        return Some(format!("duplicate property `{MAX_OPENSHIFT_VERSION}`"));
    }
    if let Some((value, number)) = value.and_then(|value| Some((value.text(), read_as(value)?))) {
        return Some(format!("`{value}` is read as the number `{number}`: quote it, as in `\"{value}\"`"));
    }
    let value = value.map(Value::text).unwrap_or_default().trim_matches('"');
    match version::tolerant(value) {
        Ok(version) if version == Version::new(version.major, version.minor, 0) => None,
        Ok(_) => Some(format!("invalid OpenShift version `{value}`: expected two numbers, such as `4.16`")),
        Err(error) => Some(format!("invalid OpenShift version `{value}`: {error}")),
    }
}
