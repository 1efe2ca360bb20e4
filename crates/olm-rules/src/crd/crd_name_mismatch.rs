use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "crd-name-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The name of a CRD is not `<plural>.<group>`.",
    impacts: &[Impact::CrdRejected],
    help: "set metadata.name to `<spec.names.plural>.<spec.group>`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinition"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let (plural, group) = (crd.string(&["names", "plural"]), crd.string(&["group"]));
    if plural.is_empty() || group.is_empty() {
        return;
    }
    let wanted = format!("{plural}.{group}");
    for field in ["name", "generateName"] {
        let name = crd.object.root.dig(&["metadata", field]).and_then(Value::as_str).unwrap_or_default();
        if name != wanted && (field == "name" || !name.is_empty()) {
            let metadata = Path::ROOT.field("metadata");
            let message = if name.is_empty() {
                format!("missing required field `metadata.name`: must be `{wanted}`")
            } else {
                format!("invalid {field} `{name}`: must be `{wanted}`")
            };
            reporter.field(&crd.object, &metadata.field(field), message);
            return;
        }
    }
    if wanted.len() > 253 {
        let message = format!("name of {} characters exceeds the limit of 253", wanted.len());
        reporter.field(&crd.object, &Path::ROOT.field("metadata.name"), message);
    }
}
