use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-scale-path-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A path of the scale subresource is missing, or does not lead into `.spec` or `.status`.",
    why: "The API server refuses the CRD.",
    help: "write specReplicasPath like .spec.replicas, statusReplicasPath like .status.replicas, labelSelectorPath like .status.selector",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceDefinitionSubresources)",
    check: Check::Crd(check),
};

const PATHS: [(&str, &[&str]); 3] = [
    ("specReplicasPath", &[".spec."]),
    ("statusReplicasPath", &[".status."]),
    ("labelSelectorPath", &[".spec.", ".status."]),
];

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    for (index, version) in crd.versions.iter().enumerate() {
        let Some(scale) = version.value.dig(&["subresources", "scale"]).filter(|scale| !scale.is_null())
        else {
            continue;
        };
        let item = versions.index(index);
        let parent = item.field("subresources.scale");
        for (field, starts) in PATHS {
            let path = scale.get(field).and_then(Value::as_str).unwrap_or_default();
            let problem = if path.is_empty() && field != "labelSelectorPath" {
                format!("{field} is missing")
            } else if path.is_empty() || starts.iter().any(|start| path.starts_with(start)) {
                continue;
            } else {
                format!("'{path}' does not begin with {}", starts.join(" or "))
            };
            reporter.field(&crd.object, &parent.field(field), problem);
        }
    }
}
