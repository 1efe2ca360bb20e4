use super::api_version::is_without_version;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
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
        Source::file(Project::OperatorFrameworkApi, "pkg/validation/internal/typecheck.go").since("0.2"),
        Source::file(Project::OperatorFrameworkApi, "crds/operators.coreos.com_clusterserviceversions.yaml")
            .since("0.2"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let report = |reporter: &mut Reporter<'_>, field: &str, message: &str| {
        reporter.field(&csv.object, &root.field(field), message);
    };
    let written = |field: &str| {
        let keys: Vec<_> = field.split('.').collect();
        csv.dig(&keys).is_some_and(|value| !value.is_null())
    };
    if is_without_version(&csv.typed.api_version) {
        let version = "operators.coreos.com/v1alpha1".to_owned();
        let insert = Change::Insert("apiVersion".to_owned(), version);
        let missing = csv.object.root.get("apiVersion").is_none();
        reporter.fix(missing.then(|| Fix::new(Safety::Safe, &root, insert)));
        reporter.field(&csv.object, &root.field("apiVersion"), "missing required field `apiVersion`");
    }
    if !written("spec") {
        return report(reporter, "spec", "missing required field `spec`");
    }
    if csv.typed.spec.display_name.is_empty() {
        report(reporter, "spec.displayName", "missing required field `spec.displayName`");
    }
    if !written("spec.install") {
        return report(reporter, "spec.install", "missing required field `spec.install`");
    }
    if csv.typed.spec.install.strategy.is_empty() {
        // There is no other strategy.
        let insert = Change::Insert("strategy".to_owned(), "deployment".to_owned());
        let missing = csv.dig(&["spec", "install", "strategy"]).is_none();
        reporter.fix(missing.then(|| Fix::new(Safety::Safe, &root.field("spec.install"), insert)));
        report(reporter, "spec.install.strategy", "missing required field `spec.install.strategy`");
    }
    if !written("spec.install.spec.deployments") {
        report(
            reporter,
            "spec.install.spec.deployments",
            "missing required field `spec.install.spec.deployments`",
        );
    }
}
