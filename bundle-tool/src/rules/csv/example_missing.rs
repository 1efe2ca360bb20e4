use super::examples;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "example-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has no example of an API that the operator owns.",
    impacts: &[Impact::Specific("Consoles show no example for the API.")],
    help: "add an example to the annotation alm-examples",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/csv.go",
        &["matchGVKProvidedAPIs"],
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Some(Ok(found)) = examples::read(csv) else { return };
    let root = Path::ROOT;
    let path = root.field("metadata.annotations");
    for api in examples::provided(csv).difference(&found) {
        let message = format!("missing example of `{api}`");
        reporter.field(&csv.object, &path.key(examples::key(csv)), message);
    }
}
