use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-field-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV lacks a field that it needs: `apiVersion`, `spec.displayName`, `spec.install`, its `strategy`, or the list of deployments.",
    why: "operator-sdk refuses the bundle; without a list of deployments the API server refuses the CSV too.",
    help: "add the field",
    source: "operator-framework/api, pkg/validation/internal/typecheck.go; the schema of clusterserviceversions.operators.coreos.com",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let mut report = |field: &str, message: &str| reporter.field(&csv.object, &root.field(field), message);
    let written = |field: &str| {
        let keys: Vec<_> = field.split('.').collect();
        csv.object.root.dig(&keys).is_some_and(|value| !value.is_null())
    };
    if is_without_version(csv.object.api_version()) {
        report("apiVersion", "the CSV has no API version");
    }
    if !written("spec") {
        return report("spec", "the CSV has no spec");
    }
    if csv.typed.spec.display_name.is_empty() {
        report("spec.displayName", "the operator has no display name");
    }
    if !written("spec.install") {
        return report("spec.install", "the CSV does not say how the operator is installed");
    }
    if csv.typed.spec.install.strategy.is_empty() {
        report("spec.install.strategy", "the install strategy has no name");
    }
    if !written("spec.install.spec.deployments") {
        report("spec.install.spec.deployments", "the install strategy has no list of deployments");
    }
}

/// Whether Go finds no version in an `apiVersion`; api-version-invalid speaks of those with more than one slash.
///
/// Source: `pkg/runtime/schema/group_version.go` of k8s.io/apimachinery (`ParseGroupVersion`).
pub(super) fn is_without_version(api_version: &str) -> bool {
    match api_version.split_once('/') {
        Some((_, version)) => version.is_empty(),
        None => api_version.is_empty(),
    }
}
