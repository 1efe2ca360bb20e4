use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "secret-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The values of a Secret exceed 1 MiB in total.",
    impacts: &[Impact::ObjectRejected],
    help: "split the Secret",
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
    let data = secret.data.iter().filter(|(key, _)| !secret.string_data.contains_key(*key));
    let size: usize = data.map(|(_, value)| value.0.len()).sum::<usize>()
        + secret.string_data.values().map(String::len).sum::<usize>();
    if size > 1 << 20 {
        errors.add(&root.field("data"), format!("values of {size} bytes exceed the limit of 1048576 bytes"));
    }
}
