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
            let message = unknown("dependency type", entry.kind, &TYPES);
            entry.at("type", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
}
