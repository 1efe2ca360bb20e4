use crate::prelude::*;
use olm_model::PullRequest;

pub(crate) static RULE: Rule = Rule {
    id: "pull-request-foreign-file",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The pull request changes files outside of the directories of operators and catalogs.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("Contributions to the catalog consist of operators and catalogs only."),
    ],
    help: "move these changes to another pull request",
    sources: &[Source::symbols(Project::OperatorPipelines, "operatorcert/parsed_file.py", &["ParserRules"])],
    check: Check::PullRequest(check),
};

fn check(request: &PullRequest, reporter: &mut Reporter<'_>) {
    for file in &request.foreign {
        reporter.path(file, "unexpected change: not in the directory of an operator or a catalog");
    }
}
