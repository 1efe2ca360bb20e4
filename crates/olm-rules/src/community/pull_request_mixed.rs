use crate::prelude::*;
use olm_model::PullRequest;
use olm_model::pull_request::BundleChange;

pub(crate) static RULE: Rule = Rule {
    id: "pull-request-mixed",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The pull request both adds and deletes bundles, or changes both bundles and catalogs.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The pipeline processes one kind of change for each pull request."),
    ],
    help: "split the changes into two pull requests",
    sources: &[Source::symbols(Project::OperatorPipelines, "operatorcert/parsed_file.py", &["ParserRules"])],
    check: Check::PullRequest(check),
};

fn check(request: &PullRequest, reporter: &mut Reporter<'_>) {
    let deletes = request.bundles.iter().any(|bundle| matches!(bundle.change, BundleChange::Deleted { .. }));
    if deletes && request.added().next().is_some() {
        reporter.bundle("the pull request adds and deletes bundles");
    }
    let changes = request.bundles.iter().any(|bundle| !matches!(bundle.change, BundleChange::Deleted { .. }));
    if changes && !request.catalogs.is_empty() {
        let catalogs: Vec<&str> = request.catalogs.iter().map(String::as_str).collect();
        reporter.bundle(format!("the pull request changes a bundle and `{}`", catalogs.join("`, `")));
    }
}
