use super::entries;
use crate::prelude::*;
use kube_yaml::Kind;

pub(crate) static RULE: Rule = Rule {
    id: "dependency-value-wrong",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A dependency has no value, or a field of its value has the wrong type.",
    impacts: &[Impact::SdkRejects, Impact::Specific("The dependency cannot be decoded.")],
    help: "set value to a map of strings, such as `{packageName: etcd, version: '>=1.0.0'}`",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/types.go", &["GetTypeValue"]).since("1.12")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::dependencies(context.bundle) {
        let texts: &[&str] = match entry.kind {
            "olm.gvk" => &["group", "version", "kind"],
            "olm.package" => &["packageName", "version"],
            "olm.label" => &["label"],
            "olm.constraint" => &["failureMessage"],
            _ => continue,
        };
        let message = match entry.value {
            None => "missing required field `value`".to_owned(),
            Some(value) if value.is_null() => continue,
            Some(value) if value.kind() != Kind::Object => {
                format!("invalid value: expected a map, found {}", value.kind())
            }
            Some(value) => {
                let wrong = |key: &&&str| {
                    entries::get(value, key)
                        .is_some_and(|value| !matches!(value.kind(), Kind::String | Kind::Null))
                };
                let Some(key) = texts.iter().find(wrong) else { continue };
                format!("invalid `{key}`: expected a string")
            }
        };
        reporter.help(match entry.kind {
            "olm.gvk" => {
                "set value to a map of strings, such as `{group: etcd.example.com, version: v1, kind: Etcd}`"
            }
            "olm.label" => "set value to a map of strings, such as `{label: etcd}`",
            "olm.constraint" => "set value to a map with `failureMessage` and `cel`",
            _ => "set value to a map of strings, such as `{packageName: etcd, version: '>=1.0.0'}`",
        });
        entry.at("value", |path, position| reporter.at(entry.file, path, position, message));
    }
}
