use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Reporter, Rule, ValidSchema};

pub(super) static RULE: Rule = Rule {
    id: "schema-default-breaks-rule",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default breaks a rule of `x-kubernetes-validations` of its own schema.",
    impacts: &[Impact::CrdRejected],
    help: "change the default so that it satisfies the rule, or guard optional fields in the rule with `has()`",
    sources: &[Source::file(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/defaulting/validation.go",
    )],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.report_defaults(reporter);
}
