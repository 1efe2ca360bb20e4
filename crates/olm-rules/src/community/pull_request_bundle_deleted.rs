use crate::prelude::*;
use olm_model::PullRequest;
use olm_model::pull_request::BundleChange;

pub(crate) static RULE: Rule = Rule {
    id: "pull-request-bundle-deleted",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The pull request deletes a bundle of an operator that is not published as a file-based catalog, or one that is still in a catalog.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("A catalog that contains a deleted bundle can no longer be built."),
    ],
    help: "remove the bundle from the catalogs first",
    sources: &[Source::symbols(Project::OperatorPipelines, "operatorcert/parsed_file.py", &["ParserRules"])],
    check: Check::PullRequest(check),
};

fn check(request: &PullRequest, reporter: &mut Reporter<'_>) {
    for bundle in &request.bundles {
        let BundleChange::Deleted { uses_catalog, used_by } = &bundle.change else { continue };
        if !uses_catalog {
            reporter.path(
                &bundle.path(),
                "the pull request deletes a bundle, but fbc.enabled is not `true` in ci.yaml",
            );
        }
        for catalog in used_by {
            reporter
                .path(&bundle.path(), format!("the pull request deletes a bundle that is in `{catalog}`"));
        }
    }
}
