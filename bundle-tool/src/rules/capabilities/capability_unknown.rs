use crate::report::suggest::unknown;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "capability-unknown",
    suite: Suite::Capabilities,
    severity: Severity::Error,
    what: "The annotation `capabilities` is not one of the five capability levels.",
    impacts: &[Impact::SubmissionRejected],
    help: "set the annotation `capabilities` to `Basic Install`, `Seamless Upgrades`, `Full Lifecycle`, `Deep Insights` or `Auto Pilot`",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/standardcapabilities.go",
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    const LEVELS: [&str; 5] =
        ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];
    let Some(level) = csv.typed.metadata.annotations.as_ref().and_then(|all| all.get("capabilities")) else {
        return;
    };
    if !LEVELS.contains(&level.as_str()) {
        let root = Path::ROOT;
        let path = root.field("metadata.annotations");
        reporter.field(&csv.object, &path.key("capabilities"), unknown("capability level", level, &LEVELS));
    }
}
