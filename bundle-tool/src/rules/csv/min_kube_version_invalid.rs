use crate::model::version;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "min-kube-version-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`spec.minKubeVersion` is no semantic version.",
    why: "operator-sdk refuses the bundle, and OLM never finds the requirement met.",
    help: "write all three numbers and no `v`: 1.27.0",
    source: "operator-framework/api, pkg/validation/internal/csv.go (validateMinKubeVersion); operator-lifecycle-manager, pkg/controller/operators/olm/requirements.go (minKubeVersionStatus)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let version = csv.typed.spec.min_kube_version.as_str();
    if !version.is_empty()
        && let Err(error) = version::strict(version)
    {
        let message = format!("'{version}' is no version: {error}");
        reporter.field(&csv.object, &Path::ROOT.field("spec.minKubeVersion"), message);
    }
}
