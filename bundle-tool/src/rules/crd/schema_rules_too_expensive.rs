use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rules-too-expensive",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The estimated cost of all validation rules of a schema exceeds the limit of the API server.",
    impacts: &[Impact::CrdRejected],
    help: "set maxItems, maxProperties and maxLength on the lists, maps and strings that the rules use, or simplify the rules",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/validation.go"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/cel_validation.go"),
    ],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::Schema);
}
