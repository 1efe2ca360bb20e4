use crate::prelude::*;
use olm_model::PullRequest;
use olm_model::pull_request::ChangedBundle;

pub(crate) static RULE: Rule = Rule {
    id: "pull-request-bundles-several",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The pull request adds more than one bundle.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The pipeline tests and publishes one bundle for each pull request."),
    ],
    help: "open a separate pull request for each bundle",
    sources: &[Source::symbols(Project::OperatorPipelines, "operatorcert/parsed_file.py", &["ParserRules"])],
    check: Check::PullRequest(check),
};

fn check(request: &PullRequest, reporter: &mut Reporter<'_>) {
    let added: Vec<String> = request.added().map(ChangedBundle::path).collect();
    if added.len() > 1 {
        reporter.bundle(format!("the pull request adds several bundles: `{}`", added.join("`, `")));
    }
}
