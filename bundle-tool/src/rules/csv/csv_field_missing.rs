use super::api_version::is_without_version;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "csv-field-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV has no `apiVersion`, `spec`, `spec.displayName`, `spec.install`, install strategy or list of deployments.",
    impacts: &[
        Impact::SdkRejects,
        Impact::Specific("Without a list of deployments, the API server rejects the CSV too."),
    ],
    help: "add the field",
    sources: &[
        Source::file(Project::OperatorFrameworkApi, "pkg/validation/internal/typecheck.go"),
        Source::file(Project::OperatorFrameworkApi, "crds/operators.coreos.com_clusterserviceversions.yaml"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let mut report = |field: &str, message: &str| reporter.field(&csv.object, &root.field(field), message);
    let written = |field: &str| {
        let keys: Vec<_> = field.split('.').collect();
        csv.dig(&keys).is_some_and(|value| !value.is_null())
    };
    if is_without_version(&csv.typed.api_version) {
        report("apiVersion", "missing required field `apiVersion`");
    }
    if !written("spec") {
        return report("spec", "missing required field `spec`");
    }
    if csv.typed.spec.display_name.is_empty() {
        report("spec.displayName", "missing required field `spec.displayName`");
    }
    if !written("spec.install") {
        return report("spec.install", "missing required field `spec.install`");
    }
    if csv.typed.spec.install.strategy.is_empty() {
        report("spec.install.strategy", "missing required field `spec.install.strategy`");
    }
    if !written("spec.install.spec.deployments") {
        report("spec.install.spec.deployments", "missing required field `spec.install.spec.deployments`");
    }
}
