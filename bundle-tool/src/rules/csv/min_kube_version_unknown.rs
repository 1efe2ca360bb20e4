use crate::model::version;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "min-kube-version-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`spec.minKubeVersion` is a Kubernetes version that does not exist.",
    impacts: &[Impact::CsvPending],
    help: "set spec.minKubeVersion to a Kubernetes version, not to a version of the operator or of OpenShift",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/operators/olm/requirements.go",
        &["minKubeVersionStatus"],
    )
    .since("0.14")],
    check: Check::Csv(check),
};

/// A minor version of Kubernetes 1 that is far in the future.
const FAR_MINOR: u64 = 60;

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Ok(version) = version::strict(&csv.typed.spec.min_kube_version) else { return };
    if version.major > 1 || version.minor > FAR_MINOR {
        let message = format!("unknown Kubernetes version {version}");
        reporter.field(&csv.object, &Path::ROOT.field("spec.minKubeVersion"), message);
    }
}
