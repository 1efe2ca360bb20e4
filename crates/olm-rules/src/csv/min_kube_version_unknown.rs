use crate::prelude::*;
use olm_model::kubernetes;
use olm_model::kubernetes::Minor;
use olm_model::version;
use olm_model::version::Version;

pub(crate) static RULE: Rule = Rule {
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

/// Returns whether Kubernetes may have a version.
pub(crate) fn may_exist(version: &Version) -> bool {
    version.major <= 1 && version.minor <= FAR_MINOR
}

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Ok(version) = version::strict(&csv.typed.spec.min_kube_version) else { return };
    if may_exist(&version) {
        return;
    }
    let path = Path::ROOT.field("spec.minKubeVersion");
    let openshift = u16::try_from(version.minor).ok().filter(|_| version.major == 4).map(Minor::openshift);
    let message = match openshift.and_then(kubernetes::of_openshift) {
        Some(minor) => {
            let kubernetes = Version::new(1, minor.number().into(), 0).to_string();
            let change = Change::SetString(kubernetes.clone());
            reporter.fix(Fix::new(Safety::Unsafe, &path, change));
            reporter.help(
                "set spec.minKubeVersion to the version of Kubernetes that the version of OpenShift has",
            );
            format!("`{version}` is a version of OpenShift: its Kubernetes version is `{kubernetes}`")
        }
        None => format!("unknown Kubernetes version {version}"),
    };
    reporter.field(&csv.object, &path, message);
}
