use super::entries;
use crate::model::version::Range;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "dependency-range-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The version of a dependency on a package is no range of versions.",
    why: "operator-sdk refuses the bundle, and OLM could not resolve the dependency.",
    help: "write a range such as `>=1.0.0 <2.0.0`; every version needs all three numbers",
    source: "operator-registry, pkg/registry/types.go (PackageDependency.Validate)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::dependencies(context.bundle).into_iter().filter(|entry| entry.kind == "olm.package")
    {
        let range = entry.text("version");
        if !range.is_empty()
            && let Err(error) = Range::parse(range)
        {
            let message = format!("'{range}' is no range of versions: {error}");
            entry.at("value.version", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
}
