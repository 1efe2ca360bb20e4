use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "service-affinity-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The session affinity of a Service is unknown, or its timeout is not from 1 to 86400 seconds.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "use None, or ClientIP with timeoutSeconds up to a day",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateClientIPAffinityConfig)",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
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
        errors.add(&path, format!("{seconds} is not from 1 to 86400"));
    }
}
