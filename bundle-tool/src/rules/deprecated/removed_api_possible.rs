use super::removed;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "removed-api-possible",
    suite: Suite::DeprecatedApis,
    severity: Severity::Warning,
    what: "The bundle uses an API that newer versions of Kubernetes do not have, and its minKubeVersion does not say that it needs one of them.",
    why: "On those versions the objects cannot be created.",
    help: "write the object in the API version that took its place",
    source: "operator-framework/api, pkg/validation/internal/removed_apis.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for used in removed::used(context).into_iter().filter(|used| !used.certain) {
        used.report(reporter);
    }
}
