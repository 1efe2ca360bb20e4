use crate::model::version;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "min-kube-version-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`spec.minKubeVersion` is a version that no Kubernetes has.",
    why: "OLM finds every cluster too old: the CSV stays Pending.",
    help: "name the least Kubernetes version that the operator works with, not the operator's own or OpenShift's",
    source: "operator-lifecycle-manager, pkg/controller/operators/olm/requirements.go (minKubeVersionStatus)",
    check: Check::Csv(check),
};

/// A minor version of Kubernetes 1 that is years away.
const FAR_MINOR: u64 = 60;

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Ok(version) = version::strict(&csv.typed.spec.min_kube_version) else { return };
    if version.major > 1 || version.minor > FAR_MINOR {
        let message = format!("there is no Kubernetes {version}");
        reporter.field(&csv.object, &Path::ROOT.field("spec.minKubeVersion"), message);
    }
}
