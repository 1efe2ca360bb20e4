use super::csv_field_missing::is_without_version;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-api-version-wrong",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV's `apiVersion` is not `operators.coreos.com/v1alpha1`.",
    why: "OLM puts the right one in when it installs from a catalogue; whoever creates the CSV from its file is refused.",
    help: "write apiVersion: operators.coreos.com/v1alpha1",
    source: "operator-lifecycle-manager, pkg/lib/ownerutil (InferGroupVersionKind), pkg/controller/registry/resolver/steps.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for csv in context.bundle.of_kind("ClusterServiceVersion") {
        let version = csv.api_version();
        // That it is missing is csv-field-missing's.
        if !is_without_version(version) && version != "operators.coreos.com/v1alpha1" {
            reporter.field(&csv, &Path::ROOT.field("apiVersion"), format!("the API version is '{version}'"));
        }
    }
}
