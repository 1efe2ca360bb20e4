use super::examples;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "example-annotations-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has neither the annotation `alm-examples` nor `olm.examples`.",
    impacts: &[Impact::Specific("Consoles show no examples for the custom resources of the operator.")],
    help: "add the annotation alm-examples: a JSON list with one object for each owned API",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/csv.go",
        &["validateExamplesAnnotations"],
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if examples::annotation(csv).is_none() {
        let message = "missing annotation `alm-examples`";
        reporter.field(&csv.object, &Path::ROOT.field("metadata.annotations"), message);
    }
}
