use crate::prelude::*;
use kube_yaml::{Scalar, Value, resolve, single_text};

pub(crate) static RULE: Rule = Rule {
    id: "annotation-unquoted",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An annotation in `metadata/annotations.yaml` is an unquoted number or boolean that other tools read as a different string: `4.20` becomes `4.2`, and `on` becomes `true`.",
    impacts: &[Impact::Specific(
        "operator-sdk, opm and catalog pipelines read a different value, such as another channel.",
    )],
    help: "quote the value",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/decode.go", &["decodeFileFS"]).since("1.7")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    for (key, value) in annotations.values.entries() {
        let Some(read) = read(value).filter(|read| read != value.text()) else { continue };
        let (key, text) = (key.text(), value.text());
        reporter.fix_annotation(&annotations, Safety::Safe, key, text);
        reporter.annotation(&annotations, key, format!("`{text}` is read as `{read}`"));
    }
}

/// Returns the string that Go's YAML decoder makes of a number or a boolean.
fn read(value: Value<'_>) -> Option<String> {
    match value.kind() {
        kube_yaml::Kind::Boolean | kube_yaml::Kind::Integer | kube_yaml::Kind::Number => {}
        _ => return None,
    }
    match resolve(value.text()) {
        Scalar::Bool(value) => Some(value.to_string()),
        Scalar::Int(value) => Some(value.to_string()),
        Scalar::UInt(value) => Some(value.to_string()),
        Scalar::Float(value) => Some(single_text(value)),
        _ => None,
    }
}
