use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-affinity-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The session affinity of a Service is unknown, or its timeout is not between 1 and 86400 seconds.",
    impacts: &[Impact::ObjectRejected],
    help: "set sessionAffinity to `None`, or to `ClientIP` with timeoutSeconds between 1 and 86400",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateClientIPAffinityConfig"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &service.spec else { return };
    let affinity = spec.session_affinity.as_deref().filter(|text| !text.is_empty()).unwrap_or("None");
    errors.one_of(&root.field("spec.sessionAffinity"), affinity, &["ClientIP", "None"]);
    let config = spec.session_affinity_config.as_ref().and_then(|config| config.client_ip.as_ref());
    if let Some(seconds) = config.and_then(|config| config.timeout_seconds)
        && affinity == "ClientIP"
        && !(1..=86400).contains(&seconds)
    {
        let path = root.field("spec.sessionAffinityConfig.clientIP.timeoutSeconds");
        errors.add(&path, format!("invalid timeout {seconds}: must be between 1 and 86400"));
    }
}
