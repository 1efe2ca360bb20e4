use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "schema-default-unverified",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "Validating the defaults of a CRD exceeds bundle-tool's cost limit: there are too many alternatives, expensive patterns or CEL rules.",
    impacts: &[Impact::Specific(
        "Some defaults were not validated. The API server may reject them, or not respond before the request times out.",
    )],
    help: "use smaller defaults, simpler patterns, and bounds such as maxItems and maxLength for what CEL rules loop over",
    sources: &[Source::file(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/defaulting/validation.go",
    )
    .since("1.16")],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    if schema.crd.work_budget.is_spent() {
        let message = "some defaults were not validated: their validation exceeds the cost limit";
        reporter.field(&schema.crd.object, &schema.path, message);
    }
}
