use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-topology-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The two topology annotations of a Service have different values.",
    impacts: &[Impact::ObjectRejected],
    help: "keep only the annotation service.kubernetes.io/topology-mode",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateService"],
    )
    .since("1.27")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let value =
        |key: &str| service.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key));
    let mode = value("service.kubernetes.io/topology-mode");
    if let (Some(hints), Some(mode)) = (value("service.kubernetes.io/topology-aware-hints"), mode)
        && hints != mode
    {
        let annotations = root.field("metadata.annotations");
        let message = format!(
            "conflicting value `{mode}`: the annotation `service.kubernetes.io/topology-aware-hints` is `{hints}`"
        );
        errors.add(&annotations.key("service.kubernetes.io/topology-mode"), message);
    }
}
