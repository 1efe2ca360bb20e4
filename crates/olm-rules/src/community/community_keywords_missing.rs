use super::sources::REQUIRED_FIELDS;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-keywords-missing",
    suite: Suite::Community,
    severity: Severity::Warning,
    what: "The CSV has no keywords.",
    impacts: &[Impact::Specific("The pipeline of the OpenShift community catalog warns about it.")],
    help: "add search keywords to spec.keywords",
    sources: REQUIRED_FIELDS,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.typed.spec.keywords.is_empty() {
        reporter.field(&csv.object, &Path::ROOT.field("spec.keywords"), "missing keywords");
    }
}
