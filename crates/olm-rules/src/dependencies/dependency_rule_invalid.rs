use super::entries;
use crate::prelude::*;
use kubernetes_cel::check_constraint;

pub(crate) static RULE: Rule = Rule {
    id: "dependency-rule-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CEL rule of a constraint in the dependencies does not compile, or does not return a boolean.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM cannot resolve the dependency.")],
    help: "correct the expression: `properties` is a list of maps, and `semver_compare` compares versions",
    sources: &[Source::file(Project::OperatorFrameworkApi, "pkg/constraints/cel.go").since("0.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in
        entries::dependencies(context.bundle).into_iter().filter(|entry| entry.kind == "olm.constraint")
    {
        let rule = entry
            .value
            .and_then(|value| entries::get(entries::get(value, "cel")?, "rule")?.as_str())
            .unwrap_or_default();
        if !rule.is_empty()
            && let Err(error) = check_constraint(rule)
        {
            let message = format!("invalid CEL rule: {error}");
            entry.at("value.cel.rule", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
}
