use super::platforms;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "multiarch-label-invalid",
    suite: Suite::Multiarch,
    severity: Severity::Warning,
    what: "A label `operatorframework.io/arch.…` or `operatorframework.io/os.…` has a value other than `supported`.",
    impacts: &[Impact::Specific(
        "Catalogs ignore the label, and do not offer the operator on clusters of that platform.",
    )],
    help: "set the label to `supported`, or remove it",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/multiarch.go",
        &["loadInfraLabelsFromCSV"],
    )
    .since("0.16")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let labels = root.field("metadata.labels");
    for (key, value) in csv.typed.metadata.labels.iter().flatten() {
        let is_platform = key.starts_with(platforms::ARCHITECTURE) || key.starts_with(platforms::SYSTEM);
        if is_platform && value != "supported" {
            let message = format!("ignored label `{key}`: expected `supported`, found `{value}`");
            reporter.field(&csv.object, &labels.key(key), message);
        }
    }
}
