use super::entries;
use crate::prelude::*;
use olm_model::version::Range;

pub(crate) static RULE: Rule = Rule {
    id: "dependency-range-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The version of a package dependency is not a valid version range.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM cannot resolve the dependency.")],
    help: "set version to a range such as `>=1.0.0 <2.0.0`, with all three numbers in every version",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/registry/types.go",
        &["PackageDependency.Validate"],
    )
    .since("1.12")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::dependencies(context.bundle).into_iter().filter(|entry| entry.kind == "olm.package")
    {
        let range = entry.string("version");
        if !range.is_empty()
            && let Err(error) = Range::parse(range)
        {
            let message = format!("invalid version range `{range}`: {error}");
            entry.at("value.version", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
}
