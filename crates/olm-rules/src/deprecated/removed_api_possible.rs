use crate::prelude::*;
use crate::shared::removed_apis;

pub(crate) static RULE: Rule = Rule {
    id: "removed-api-possible",
    suite: Suite::DeprecatedApis,
    severity: Severity::Warning,
    what: "The bundle uses an API that was removed from Kubernetes, and `spec.minKubeVersion` allows versions with and without it.",
    impacts: &[Impact::Specific("The objects cannot be created on versions of Kubernetes without the API.")],
    help: "convert the object to an API version that Kubernetes serves",
    sources: &[
        Source::file(Project::OperatorFrameworkApi, "pkg/validation/internal/removed_apis.go").since("0.9")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    removed_apis::report(context, false, reporter);
}
