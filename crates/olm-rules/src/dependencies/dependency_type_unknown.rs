use super::entries;
use crate::prelude::*;
use olm_model::report::suggest::unknown;

pub(crate) static RULE: Rule = Rule {
    id: "dependency-type-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The type of a dependency is not supported.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM ignores the dependency.")],
    help: "set type to `olm.gvk`, `olm.package`, `olm.label` or `olm.constraint`",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/types.go", &["GetTypeValue"]).since("1.12")
    ],
    check: Check::Bundle(check),
};

const TYPES: [&str; 4] = ["olm.gvk", "olm.package", "olm.label", "olm.constraint"];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::dependencies(context.bundle) {
        if !TYPES.contains(&entry.kind) {
            let kind = entry.kind.trim_end_matches(".required");
            let meant = TYPES.iter().find(|name| **name == kind || name.strip_prefix("olm.") == Some(kind));
            let message = match meant {
                _ if kind.is_empty() => "missing required field `type`".to_owned(),
                Some(meant) => format!("unknown dependency type `{}`: did you mean `{meant}`?", entry.kind),
                None => unknown("dependency type", entry.kind, &TYPES),
            };
            entry.at("type", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
}
