use crate::prelude::*;
use olm_model::PullRequest;
use olm_model::pull_request::BundleChange;

pub(crate) static RULE: Rule = Rule {
    id: "pull-request-bundle-modified",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The pull request changes a published bundle.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("Clusters may already have installed the published bundle."),
    ],
    help: "do not change published bundles; add a new version instead",
    sources: &[Source::symbols(Project::OperatorPipelines, "operatorcert/parsed_file.py", &["ParserRules"])],
    check: Check::PullRequest(check),
};

fn check(request: &PullRequest, reporter: &mut Reporter<'_>) {
    for bundle in request.bundles.iter().filter(|bundle| bundle.change == BundleChange::Modified) {
        reporter.path(&bundle.path(), "the pull request changes a published bundle");
    }
}
