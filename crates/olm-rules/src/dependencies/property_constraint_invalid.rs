use super::{constraint, entries};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "property-constraint-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A property of type `olm.constraint` has an unknown field, no constraint, or an invalid version range or CEL rule.",
    impacts: &[Impact::ResolutionFails],
    help: "set one of gvk, package, cel, all, any and not; the last three require a list `constraints`",
    sources: &[
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/registry/resolver/resolver.go",
            &["convertConstraints"],
        )
        .since("0.20"),
        Source::symbols(Project::OperatorFrameworkApi, "pkg/constraints/constraint.go", &["Parse"])
            .since("0.11"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in
        entries::properties(context.bundle).into_iter().filter(|entry| entry.kind == "olm.constraint")
    {
        let Some(value) = entry.value else { continue };
        if let Err((path, message)) = constraint::check(value) {
            entry.at(&format!("value{path}"), |path, position| {
                reporter.at(entry.file, path, position, message);
            });
        }
    }
}
