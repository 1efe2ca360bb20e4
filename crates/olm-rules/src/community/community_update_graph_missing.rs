use crate::prelude::*;
use kube_yaml::Value;
use olm_model::submission::CI;

pub(crate) static RULE: Rule = Rule {
    id: "community-update-graph-missing",
    suite: Suite::Community,
    severity: Severity::Warning,
    what: "`ci.yaml` does not set `updateGraph`, for an operator that is not published as a file-based catalog.",
    impacts: &[Impact::Specific(
        "The pipeline of the OpenShift community catalog warns about it, and uses `replaces-mode`.",
    )],
    help: "set updateGraph in ci.yaml to `replaces-mode` or `semver-mode`",
    sources: &[Source::symbols(
        Project::OperatorPipelines,
        "operatorcert/static_tests/community/operator.py",
        &["check_ci_upgrade_graph"],
    )],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(submission) = context.bundle.submission_without_catalog() else { return };
    if submission.config().and_then(|root| root.get("updateGraph")).is_none_or(Value::is_null) {
        reporter.path(CI, "updateGraph is not set: defaults to `replaces-mode`");
    }
}
