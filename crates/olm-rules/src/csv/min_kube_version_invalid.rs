use super::min_kube_version_unknown::may_exist;
use crate::prelude::*;
use olm_model::version;

pub(crate) static RULE: Rule = Rule {
    id: "min-kube-version-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`spec.minKubeVersion` is not a semantic version.",
    impacts: &[Impact::SdkRejects, Impact::CsvPending],
    help: "set spec.minKubeVersion to a version with three numbers and without `v`, such as `1.27.0`",
    sources: &[
        Source::symbols(
            Project::OperatorFrameworkApi,
            "pkg/validation/internal/csv.go",
            &["validateMinKubeVersion"],
        )
        .since("0.18"),
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/operators/olm/requirements.go",
            &["minKubeVersionStatus"],
        )
        .since("0.14"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let version = csv.typed.spec.min_kube_version.as_str();
    if !version.is_empty()
        && let Err(error) = version::strict(version)
    {
        let message = format!("invalid version `{version}`: {error}");
        let path = Path::ROOT.field("spec.minKubeVersion");
        let set =
            |version: version::Version| Fix::new(Safety::Safe, &path, Change::SetString(version.to_string()));
        let meant = version::tolerant(version).ok().filter(may_exist);
        reporter.fix(meant.map(set)).field(&csv.object, &path, message);
    }
}
