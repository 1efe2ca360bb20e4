use super::removed;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "removed-api",
    suite: Suite::DeprecatedApis,
    severity: Severity::Error,
    what: "The bundle uses an API that was removed from Kubernetes before the version that its minKubeVersion names.",
    why: "The objects cannot be created on any cluster that the operator is for.",
    help: "write the object in the API version that took its place",
    source: "operator-framework/api, pkg/validation/internal/removed_apis.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for used in removed::used(context).into_iter().filter(|used| used.certain) {
        used.report(reporter);
    }
}
