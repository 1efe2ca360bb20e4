use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-api-version-wrong",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV's `apiVersion` is not `operators.coreos.com/v1alpha1`.",
    why: "OLM knows no other version of ClusterServiceVersions: it cannot create the object.",
    help: "write apiVersion: operators.coreos.com/v1alpha1",
    source: "operator-framework/api, pkg/validation/internal/csv.go (validateVersionKind); operator-lifecycle-manager, pkg/controller/registry/resolver/steps.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for csv in context.bundle.of_kind("ClusterServiceVersion") {
        let version = csv.api_version();
        if version != "operators.coreos.com/v1alpha1" {
            reporter.field(&csv, &Path::ROOT.field("apiVersion"), format!("the API version is '{version}'"));
        }
    }
}
