use crate::prelude::*;
use olm_model::version::Range;

pub(crate) static RULE: Rule = Rule {
    id: "csv-skip-range-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The annotation `olm.skipRange` is not a valid version range.",
    impacts: &[
        Impact::Ignored,
        Impact::Specific("The upgrades that the range should allow are never offered."),
    ],
    help: "set olm.skipRange to a range such as `>=1.0.0 <1.2.0`, with all three numbers in every version",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/registry/resolver/source_registry.go",
        &["newOperatorFromBundle"],
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    const KEY: &str = "olm.skipRange";
    let Some(range) = csv.typed.metadata.annotations.as_ref().and_then(|annotations| annotations.get(KEY))
    else {
        return;
    };
    if let Err(error) = Range::parse(range) {
        let root = Path::ROOT;
        let annotations = root.field("metadata.annotations");
        let message = format!("invalid version range `{range}`: {error}");
        reporter.field(&csv.object, &annotations.key(KEY), message);
    }
}
