use super::platforms;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "multiarch-label-missing",
    suite: Suite::Multiarch,
    severity: Severity::Warning,
    what: "The node affinity of a Deployment admits an architecture for which the CSV has no label `operatorframework.io/arch.…`.",
    impacts: &[Impact::Specific(
        "Catalogs assume that the operator supports only `amd64`, and do not offer it on clusters of the other architectures.",
    )],
    help: "add the label `operatorframework.io/arch.…: supported` for each architecture to metadata.labels",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/multiarch.go",
        &["loadAllPossibleArchSupported", "checkMissingLabelsForArchs"],
    )
    .since("0.16")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let declared = platforms::declared(csv);
    let admitted = platforms::admitted(csv);
    // Without a label, an operator is for amd64.
    let missing = admitted.iter().filter(|name| !declared.contains(*name));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if missing.is_empty() || declared.is_empty() && missing == ["amd64"] {
        return;
    }
    let root = Path::ROOT;
    let labels = root.field("metadata.labels");
    for name in missing {
        let key = format!("{}{name}", platforms::ARCHITECTURE);
        reporter.field(&csv.object, &labels.key(&key), format!("missing label `{key}`"));
    }
}
