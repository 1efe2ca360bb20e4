use crate::prelude::*;
use crate::reporter::{rename, unknown_field};

pub(crate) static RULE: Rule = Rule {
    id: "unknown-field",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An object has a field that its kind does not declare.",
    impacts: &[Impact::FieldDropped],
    help: "remove the field, or correct its name or indentation",
    sources: &[Source::symbols(Project::Apiserver, "pkg/endpoints/handlers/create.go", &["createHandler"])
        .since("1.16")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for known in &context.known {
        for unknown in &known.unknown {
            if reporter.skip_if_full() {
                continue;
            }
            reporter.fix(rename(unknown));
            reporter.at(known.object.file, &unknown.path, unknown.position, unknown_field(unknown));
        }
    }
}
