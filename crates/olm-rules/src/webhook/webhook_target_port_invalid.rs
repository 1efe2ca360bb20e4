use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::kubernetes::numbers;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "webhook-target-port-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `targetPort` of a webhook is not a valid port number or port name.",
    impacts: &[Impact::ServiceRejected],
    help: "set targetPort to a number from 1 to 65535, or the name of a container port",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/certresources.go",
        &["getServicePort"],
    )
    .since("0.17")],
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut ErrorReporter<'_, '_>) {
    match &webhook.typed.target_port {
        // The target port defaults to the port of the Service.
        None | Some(IntOrString::Int(0)) => {}
        Some(IntOrString::String(name)) if name.is_empty() => {}
        Some(target) => {
            errors.check(&webhook.path.field("targetPort"), numbers::port_or_name(target));
        }
    }
}
