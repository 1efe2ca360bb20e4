use crate::prelude::*;
use base64::Engine as _;
use kube_yaml::{Kind, Value};

pub(crate) static RULE: Rule = Rule {
    id: "descriptor-value-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `value` of a descriptor is not a base64 string.",
    impacts: &[Impact::CsvRejected],
    help: "remove the value: consoles do not use it",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "crds/operators.coreos.com_clusterserviceversions.yaml",
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    for set in ["spec.customresourcedefinitions", "spec.apiservicedefinitions"] {
        let set_path = root.field(set);
        for role in ["owned", "required"] {
            let role_path = set_path.field(role);
            let keys: Vec<_> = set.split('.').chain([role]).collect();
            for (index, api) in csv.dig(&keys).into_iter().flat_map(Value::items).enumerate() {
                let api_path = role_path.index(index);
                for kind in ["statusDescriptors", "specDescriptors", "actionDescriptors"] {
                    let kind_path = api_path.field(kind);
                    for (index, descriptor) in api.get(kind).into_iter().flat_map(Value::items).enumerate() {
                        if descriptor.get("value").is_some_and(|value| !is_taken(value)) {
                            let path = kind_path.index(index);
                            let message = "invalid value: must be a non-empty base64 string";
                            reporter.field(&csv.object, &path.field("value"), message);
                        }
                    }
                }
            }
        }
    }
}

/// Returns whether the API server accepts a value: it drops null, and treats a list as bytes.
fn is_taken(value: Value<'_>) -> bool {
    let base64 = base64::engine::general_purpose::STANDARD;
    value.is_null()
        || value.kind() == Kind::Array
        || value.as_str().is_some_and(|text| !text.is_empty() && base64.decode(text).is_ok())
}
