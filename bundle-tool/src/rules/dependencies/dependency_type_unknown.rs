use super::entries;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "dependency-type-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A dependency's type is none of olm.gvk, olm.package, olm.label and olm.constraint.",
    why: "operator-sdk refuses the bundle; OLM would ignore the dependency.",
    help: "write one of the four types",
    source: "operator-registry, pkg/registry/types.go (GetTypeValue)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::dependencies(context.bundle) {
        if !["olm.gvk", "olm.package", "olm.label", "olm.constraint"].contains(&entry.kind) {
            let message = format!("there is no type of dependency '{}'", entry.kind);
            entry.at("type", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
}
