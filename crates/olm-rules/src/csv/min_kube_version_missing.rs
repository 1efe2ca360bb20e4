use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "min-kube-version-missing",
    suite: Suite::Bundle,
    severity: Severity::Info,
    what: "The CSV has no `spec.minKubeVersion`.",
    impacts: &[Impact::Specific(
        "OLM installs the operator on every version of Kubernetes, including those that lack APIs it requires.",
    )],
    help: "set spec.minKubeVersion to the minimum Kubernetes version that the operator supports",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/csv.go",
        &["validateMinKubeVersion"],
    )
    .since("0.18")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.min_kube_version.is_empty() {
        let message = "spec.minKubeVersion is not set";
        reporter.field(&csv.object, &Path::ROOT.field("spec.minKubeVersion"), message);
    }
}
