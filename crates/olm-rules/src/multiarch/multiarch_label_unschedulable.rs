use super::platforms;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "multiarch-label-unschedulable",
    suite: Suite::Multiarch,
    severity: Severity::Warning,
    what: "A label declares an architecture that the node affinity of every Deployment excludes.",
    impacts: &[Impact::Specific(
        "Catalogs offer the operator on clusters on which its pods cannot be scheduled.",
    )],
    help: "remove the label, or add the architecture to the node affinity",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/multiarch.go",
        &["multiArchValidator.checkNodeAffinity"],
    )
    .since("0.18")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let admitted = platforms::admitted(csv);
    if admitted.is_empty() {
        return;
    }
    let root = Path::ROOT;
    let labels = root.field("metadata.labels");
    for name in platforms::declared(csv).iter().filter(|name| !admitted.contains(*name)) {
        let key = format!("{}{name}", platforms::ARCHITECTURE);
        let message = format!("no Deployment can be scheduled on `{name}`");
        reporter.field(&csv.object, &labels.key(&key), message);
    }
}
