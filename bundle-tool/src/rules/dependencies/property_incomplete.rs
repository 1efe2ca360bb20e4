use super::entries;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "property-incomplete",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A property has no type, or no value.",
    why: "Nobody can make anything of it.",
    help: "write both, or delete the entry",
    source: "operator-registry, alpha/property/property.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::properties(context.bundle) {
        let message = match (entry.kind, entry.value) {
            ("", _) => "the property has no type",
            (_, None) => "the property has no value",
            _ => continue,
        };
        entry.at("", |path, position| reporter.at(entry.file, path, position, message));
    }
}
