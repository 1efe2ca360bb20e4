use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "schema-default-unverified",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "Validating the defaults of a CRD takes more work than bundle-tool's limit: there are too many alternatives, expensive patterns or CEL rules.",
    impacts: &[Impact::Specific(
        "Some defaults were not validated. The API server may reject them, or not answer within a request's time.",
    )],
    help: "use smaller defaults, simpler patterns, and bounds such as maxItems and maxLength for what CEL rules loop over",
    sources: &[Source::file(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/defaulting/validation.go",
    )],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    if schema.crd.effort.is_spent() {
        let message = "some defaults were not validated: they take too much work";
        reporter.field(&schema.crd.object, &schema.path, message);
    }
}
