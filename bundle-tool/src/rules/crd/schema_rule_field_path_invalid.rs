use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};
use kubernetes_cel::Field;

pub(super) static RULE: Rule = Rule {
    id: "schema-rule-field-path-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `fieldPath` of a validation rule does not lead to a field of the schema.",
    impacts: &[Impact::CrdRejected],
    help: "set fieldPath to a path relative to the schema of the rule, such as `.spec.size` or `.labels['a.b']`",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/validation.go"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/cel_validation.go"),
    ],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_rules(reporter, |problem| problem.field == Field::FieldPath);
}
