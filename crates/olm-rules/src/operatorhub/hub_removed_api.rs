use crate::prelude::*;
use crate::shared::removed_apis;

pub(crate) static RULE: Rule = Rule {
    id: "hub-removed-api",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "The bundle uses an API that was removed in the Kubernetes version of `spec.minKubeVersion` or before.",
    impacts: &[
        Impact::SubmissionRejected,
        Impact::Specific("The objects cannot be created on any cluster that the operator supports."),
    ],
    help: "convert the object to an API version that Kubernetes serves",
    sources: &[
        Source::file(Project::OperatorFrameworkApi, "pkg/validation/internal/removed_apis.go").since("0.8")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    removed_apis::report(context, true, reporter);
}
