use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "secret-key-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A key of a Secret is invalid.",
    impacts: &[Impact::ObjectRejected],
    help: "use letters, digits, `-`, `_` and `.` in keys",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateSecret"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Secret(secret) = &known.typed else { return };
    let root = Path::ROOT;
    for (field, keys) in [
        ("data", secret.data.keys().collect::<Vec<_>>()),
        ("stringData", secret.string_data.keys().collect()),
    ] {
        let data = root.field(field);
        for key in keys {
            errors.check(&data.key(key), names::config_key(key));
        }
    }
}
