use crate::rules::prelude::*;
use crate::rules::shared::scalars;

pub(super) static RULE: Rule = Rule {
    id: "csv-undecodable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A field of the CSV has a value of the wrong type, or an invalid quantity.",
    impacts: &[
        Impact::UnpackFails,
        Impact::CsvRejected,
        Impact::Specific(
            "OLM decodes the CSV strictly when it unpacks the bundle and when it creates the CSV.",
        ),
    ],
    help: "set the field to a value of the expected type; quote strings that look like numbers or booleans",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
    )
    .since("0.2")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for (object, error) in &context.undecodable_csvs {
        reporter.fix(scalars::fix(object, error));
        reporter.at(object.file, &error.path, error.position, error.message.clone());
    }
}
