use super::examples;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "example-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The operator owns an API of which the CSV has no example.",
    why: "Consoles offer no example to people who create such an object.",
    help: "add an example to alm-examples",
    source: "operator-framework/api, pkg/validation/internal/csv.go (matchGVKProvidedAPIs)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Some(Ok(found)) = examples::read(csv) else { return };
    let root = Path::ROOT;
    let path = root.field("metadata.annotations");
    for api in examples::provided(csv).difference(&found) {
        let message = format!("there is no example of {api}");
        reporter.field(&csv.object, &path.key(examples::key(csv)), message);
    }
}
