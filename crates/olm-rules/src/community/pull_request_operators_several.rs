use crate::prelude::*;
use olm_model::PullRequest;

pub(crate) static RULE: Rule = Rule {
    id: "pull-request-operators-several",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The pull request changes bundles, and also files of more than one operator.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The pipeline tests and publishes one operator for each pull request."),
    ],
    help: "open a separate pull request for each operator",
    sources: &[Source::symbols(Project::OperatorPipelines, "operatorcert/parsed_file.py", &["ParserRules"])],
    check: Check::PullRequest(check),
};

fn check(request: &PullRequest, reporter: &mut Reporter<'_>) {
    if request.operators.len() > 1 && !request.bundles.is_empty() {
        let names: Vec<&str> = request.operators.iter().map(String::as_str).collect();
        reporter.bundle(format!("the pull request changes several operators: `{}`", names.join("`, `")));
    }
}
