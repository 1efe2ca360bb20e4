use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "min-kube-version-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has no `spec.minKubeVersion`.",
    why: "OLM installs the operator on every version of Kubernetes, on those too that lack what it needs.",
    help: "name the least version that the operator works with",
    source: "operator-framework/api, pkg/validation/internal/csv.go (validateMinKubeVersion)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.min_kube_version.is_empty() {
        let message = "the least Kubernetes version is not named";
        reporter.field(&csv.object, &Path::ROOT.field("spec.minKubeVersion"), message);
    }
}
