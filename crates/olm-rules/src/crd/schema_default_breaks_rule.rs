use crate::prelude::*;
use kubernetes_cel::BrokenRule;

pub(crate) static RULE: Rule = Rule {
    id: "schema-default-breaks-rule",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default breaks a rule of `x-kubernetes-validations` of its own schema.",
    impacts: &[Impact::CrdRejected],
    help: "change the default so that it satisfies the rule, or guard optional fields in the rule with `has()`",
    sources: &[Source::file(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/defaulting/validation.go",
    )
    .since("1.25")],
    check: Check::ValidSchema(check),
};

fn check(schema: &ValidSchema<'_, '_>, reporter: &mut Reporter<'_>) {
    schema.each_broken_default(&mut |path, broken| {
        reporter.field(&schema.crd.object, path, message(broken));
    });
}

/// Returns the message about a rule that a default breaks.
fn message(broken: &BrokenRule) -> String {
    let place = kubernetes_cel::format_path(&broken.path);
    let place = if place.is_empty() { String::new() } else { format!(" at `{place}`") };
    let number = broken.rule + 1;
    match broken.error {
        None => format!("the default breaks rule {number} of `x-kubernetes-validations`{place}"),
        Some(error) => {
            format!(
                "failed to evaluate rule {number} of `x-kubernetes-validations`{place} for the default: {error}"
            )
        }
    }
}
