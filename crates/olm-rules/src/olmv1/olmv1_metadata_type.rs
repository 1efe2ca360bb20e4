use crate::prelude::*;
use kube_yaml::Kind;
use olm_model::Object;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-metadata-type",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "A name or namespace is not a string in YAML 1.1, in which `n` and `yes` are booleans and `1` is a number.",
    impacts: &[Impact::OlmV1Rejects],
    help: "quote the value",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/bundle/source/source.go",
        &["fsBundleSource.GetBundle"],
    )
    .since("0.13")],
    check: Check::Object(check),
};

fn check(object: &Object<'_>, reporter: &mut Reporter<'_>) {
    let Some(metadata) = object.root.get("metadata") else { return };
    for field in ["name", "namespace", "generateName"] {
        let Some(value) = metadata.get(field) else { continue };
        if matches!(value.kind(), Kind::Boolean | Kind::Integer | Kind::Number) {
            let message =
                format!("invalid {field} `{}`: expected a string, found {}", value.text(), value.kind());
            let root = Path::ROOT;
            let metadata = root.field("metadata");
            let path = metadata.field(field);
            reporter.fix(Fix::new(Safety::Safe, &path, Change::SetString(value.text().to_owned())));
            reporter.field(object, &path, message);
        }
    }
}
