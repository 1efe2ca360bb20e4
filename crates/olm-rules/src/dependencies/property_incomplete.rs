use super::entries;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "property-incomplete",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A property has no type or no value.",
    impacts: &[Impact::Specific("No tool reads the property.")],
    help: "set both type and value, or remove the entry",
    sources: &[Source::file(Project::OperatorRegistry, "alpha/property/property.go").since("1.19")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::properties(context.bundle) {
        let message = match (entry.kind, entry.value) {
            ("", _) => "missing required field `type`",
            (_, None) => "missing required field `value`",
            _ => continue,
        };
        entry.at("", |path, position| reporter.at(entry.file, path, position, message));
    }
}
