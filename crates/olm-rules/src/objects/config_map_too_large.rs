use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "config-map-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The values of a ConfigMap exceed 1 MiB in total.",
    impacts: &[Impact::ObjectRejected],
    help: "split the ConfigMap, or move large files into an image",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateConfigMap"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::ConfigMap(map) = &known.typed else { return };
    let root = Path::ROOT;
    let size: usize = map.data.values().map(String::len).sum::<usize>()
        + map.binary_data.values().map(|value| value.0.len()).sum::<usize>();
    if size > 1 << 20 {
        errors.add(&root, format!("values of {size} bytes exceed the limit of 1048576 bytes"));
    }
}
