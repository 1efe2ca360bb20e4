use super::{constraint, entries};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "property-constraint-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A property of type olm.constraint is no constraint: a field that OLM does not know, an empty one, a range or a CEL rule that cannot be read.",
    why: "OLM's resolver stops at it: nothing in the namespace can be installed or upgraded any more.",
    help: "write one of gvk, package, cel, all, any and not, and in these three a list `constraints`",
    source: "operator-lifecycle-manager, pkg/controller/registry/resolver/resolver.go (convertConstraints); operator-framework/api, pkg/constraints/constraint.go (Parse)",
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
