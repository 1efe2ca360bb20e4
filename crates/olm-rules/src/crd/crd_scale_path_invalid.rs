use crate::prelude::*;
use kube_yaml::Value;
use olm_model::report::suggest::alternatives;

pub(crate) static RULE: Rule = Rule {
    id: "crd-scale-path-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A path of the scale subresource is missing, or is not below `.spec` or `.status`.",
    impacts: &[Impact::CrdRejected],
    help: "set specReplicasPath to a path like `.spec.replicas`, statusReplicasPath to `.status.replicas`, and labelSelectorPath to `.status.selector`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionSubresources"],
    )
    .since("1.16")],
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
                format!("missing required field `{field}`")
            } else if path.is_empty() || starts.iter().any(|start| path.starts_with(start)) {
                continue;
            } else {
                format!("invalid path `{path}`: must start with {}", alternatives(starts))
            };
            reporter.field(&crd.object, &parent.field(field), problem);
        }
    }
}
