use crate::kubernetes::labels;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-selector-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of a Service's selector has an invalid key or value.",
    impacts: &[Impact::ObjectRejected],
    help: "set selector to labels that the pods have",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateService"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    labels::validate(selector, &root.field("spec.selector"), errors);
}
