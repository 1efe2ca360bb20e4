use super::entries;
use crate::model::yaml::Kind;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "dependency-value-wrong",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A dependency's value is missing, or a field in it is not of the type that its type of dependency has there.",
    why: "operator-sdk refuses the bundle: the dependency cannot be decoded.",
    help: "write a map of texts, such as {packageName: etcd, version: '>=1.0.0'}",
    source: "operator-registry, pkg/registry/types.go (GetTypeValue)",
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
            None => "the dependency has no value".to_owned(),
            Some(value) if value.is_null() => continue,
            Some(value) if value.kind() != Kind::Object => {
                format!("the value is {}, where a map belongs", value.kind())
            }
            Some(value) => {
                let wrong = |key: &&&str| {
                    entries::get(value, key)
                        .is_some_and(|value| !matches!(value.kind(), Kind::String | Kind::Null))
                };
                let Some(key) = texts.iter().find(wrong) else { continue };
                format!("'{key}' is no text; quote it")
            }
        };
        entry.at("value", |path, position| reporter.at(entry.file, path, position, message));
    }
}
