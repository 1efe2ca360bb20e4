use crate::prelude::*;
use olm_model::report::suggest::{nearest, unknown};

pub(crate) static RULE: Rule = Rule {
    id: "capability-unknown",
    suite: Suite::Capabilities,
    severity: Severity::Error,
    what: "The annotation `capabilities` is not one of the five capability levels.",
    impacts: &[Impact::SubmissionRejected],
    help: "set the annotation `capabilities` to `Basic Install`, `Seamless Upgrades`, `Full Lifecycle`, `Deep Insights` or `Auto Pilot`",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/standardcapabilities.go",
    )
    .since("0.4")],
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
        let key = path.key("capabilities");
        let set = |name: &str| {
            let is_meant = name.eq_ignore_ascii_case(level.trim());
            let safety = if is_meant { Safety::Safe } else { Safety::Unsafe };
            Fix::new(safety, &key, Change::SetString(name.to_owned()))
        };
        reporter.fix(
            nearest(level.trim(), LEVELS).or(LEVELS.into_iter().find(|name| *name == level.trim())).map(set),
        );
        reporter.field(&csv.object, &key, unknown("capability level", level, &LEVELS));
    }
}
