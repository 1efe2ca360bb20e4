use super::api_version::is_without_version;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "csv-api-version-wrong",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV's `apiVersion` is not `operators.coreos.com/v1alpha1`.",
    impacts: &[Impact::Specific(
        "OLM corrects the value when it installs from a catalog, but the API server rejects the CSV if it is created from the file.",
    )],
    help: "set apiVersion to `operators.coreos.com/v1alpha1`",
    sources: &[
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/lib/ownerutil/util.go",
            &["InferGroupVersionKind"],
        )
        .since("0.14"),
        Source::file(Project::OperatorLifecycleManager, "pkg/controller/registry/resolver/steps.go")
            .since("0.14"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for csv in context.bundle.of_kind("ClusterServiceVersion") {
        let version = csv.api_version();
        // csv-field-missing reports a missing version.
        if !is_without_version(version) && version != "operators.coreos.com/v1alpha1" {
            let path = Path::ROOT.field("apiVersion");
            let set = Change::SetString("operators.coreos.com/v1alpha1".to_owned());
            reporter.fix(Fix::new(Safety::Safe, &path, set));
            reporter.field(
                &csv,
                &path,
                format!("unexpected apiVersion `{version}`: must be `operators.coreos.com/v1alpha1`"),
            );
        }
    }
}
