use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "config-map-key-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A key of a ConfigMap is invalid, or is in both `data` and `binaryData`.",
    impacts: &[Impact::ObjectRejected],
    help: "use letters, digits, `-`, `_` and `.` in keys, and set each key once",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateConfigMap"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::ConfigMap(map) = &known.typed else { return };
    let root = Path::ROOT;
    let data = root.field("data");
    for key in map.data.keys() {
        let path = data.key(key);
        errors.check(&path, names::config_key(key));
        if map.binary_data.contains_key(key) {
            errors.add(&path, format!("duplicate key `{key}`: also in `binaryData`"));
        }
    }
    let data = root.field("binaryData");
    for key in map.binary_data.keys() {
        errors.check(&data.key(key), names::config_key(key));
    }
}
