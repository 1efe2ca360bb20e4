use crate::report::{Severity, Suite};
use crate::rules::{Check, Rule};
use crate::rules::{Context, Reporter};

pub(super) static RULE: Rule = Rule {
    id: "unknown-field",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An object has a field that its kind does not have.",
    why: "The API server drops the field and goes on: what it was meant for does not happen.",
    help: "mend the name of the field, or take it out",
    source: "k8s.io/apiserver, pkg/endpoints/handlers/create.go (fieldValidation: Warn)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for known in &context.known {
        for unknown in &known.unknown {
            let kind = known.object.kind();
            reporter.at(
                known.object.file,
                &unknown.path,
                unknown.position,
                format!("a {kind} has no such field"),
            );
        }
    }
}
