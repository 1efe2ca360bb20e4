use super::entries;
use crate::prelude::*;
use kube_yaml::Kind;

pub(crate) static RULE: Rule = Rule {
    id: "dependency-incomplete",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A dependency does not set the fields that its type requires.",
    impacts: &[Impact::SdkRejects],
    help: "add the field",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/types.go", &["Validate"]).since("1.12")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::dependencies(context.bundle) {
        let Some(value) = entry.value else { continue };
        let needed: &[&str] = match entry.kind {
            "olm.gvk" => &["group", "version", "kind"],
            "olm.package" => &["packageName", "version"],
            "olm.label" => &["label"],
            "olm.constraint" => {
                let rule = entries::get(value, "cel")
                    .and_then(|cel| entries::get(cel, "rule")?.as_str())
                    .unwrap_or_default();
                if rule.is_empty() {
                    let has_cel = entries::get(value, "cel").is_some();
                    let message = if has_cel || value.entries().next().is_none() {
                        "missing required field `cel.rule`"
                    } else {
                        reporter.help("declare the constraint in metadata/properties.yaml, with the type `olm.constraint`");
                        "unsupported constraint: dependencies.yaml supports only `cel`"
                    };
                    entry.at("value", |path, position| reporter.at(entry.file, path, position, message));
                }
                continue;
            }
            _ => continue,
        };
        // dependency-value-wrong reports a value that is not a string.
        let absent = |key: &&&str| {
            entries::get(value, key).is_none_or(|value| value.is_null() || value.as_str() == Some(""))
        };
        let missing: Vec<_> = needed.iter().filter(absent).copied().collect();
        if !missing.is_empty() && matches!(value.kind(), Kind::Object | Kind::Null) {
            let message = format!(
                "missing required field{} `{}`",
                if missing.len() == 1 { "" } else { "s" },
                missing.join("`, `")
            );
            entry.at("value", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
}
