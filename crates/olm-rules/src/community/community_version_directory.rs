use crate::prelude::*;
use olm_model::version::strict;

pub(crate) static RULE: Rule = Rule {
    id: "community-version-directory",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The bundle's directory is not named after `spec.version`.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The pipeline takes the version from the name of the directory."),
    ],
    help: "rename the directory to the version, or set spec.version to its name",
    sources: &[Source::symbols(
        Project::OperatorPipelines,
        "operatorcert/static_tests/common/bundle.py",
        &["check_operator_version_directory_name"],
    )],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(submission) = &context.bundle.submission else { return };
    for csv in &context.csvs {
        let version = &csv.typed.spec.version;
        if *version != submission.version {
            if strict(&submission.version).is_err() {
                reporter.help("rename the directory to the version");
            }
            let message = format!("version `{version}` differs from the directory `{}`", submission.version);
            reporter.field(&csv.object, &Path::ROOT.field("spec.version"), message);
        }
    }
}
