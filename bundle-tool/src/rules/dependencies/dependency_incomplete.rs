use super::entries;
use crate::model::yaml::Kind;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "dependency-incomplete",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A dependency lacks what its type needs: group, version and kind; package and version; a label; a CEL rule.",
    why: "operator-sdk refuses the bundle.",
    help: "add the field",
    source: "operator-registry, pkg/registry/types.go (Validate)",
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
                    let message = "a constraint among the dependencies needs cel.rule; others belong into properties.yaml";
                    entry.at("value", |path, position| reporter.at(entry.file, path, position, message));
                }
                continue;
            }
            _ => continue,
        };
        // What is no text is dependency-value-wrong's.
        let absent = |key: &&&str| {
            entries::get(value, key).is_none_or(|value| value.is_null() || value.as_str() == Some(""))
        };
        let missing: Vec<_> = needed.iter().filter(absent).copied().collect();
        if !missing.is_empty() && matches!(value.kind(), Kind::Object | Kind::Null) {
            let message = format!("the dependency has no {}", missing.join(", no "));
            entry.at("value", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
}
