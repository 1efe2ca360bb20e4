use super::examples;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "example-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV's examples are not a JSON list of objects.",
    impacts: &[Impact::SdkRejects, Impact::Specific("Consoles show no examples.")],
    help: "set the annotation to a JSON list of objects with apiVersion and kind",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/csv.go",
        &["validateExamplesAnnotations"],
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if let Some(Err(problem)) = examples::read(csv) {
        let key = examples::key(csv);
        let path = Path::ROOT.field("metadata.annotations");
        let path = path.key(key);
        match problem.offset {
            Some(offset) => reporter.within(&csv.object, &path, offset, problem.message),
            None => reporter.field(&csv.object, &path, problem.message),
        }
    }
}
