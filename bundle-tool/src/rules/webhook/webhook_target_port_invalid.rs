use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, numbers};
use crate::rules::webhook::Webhook;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-target-port-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A webhook's `targetPort` is neither a port's number nor a port's name.",
    why: "The API server refuses the Service that OLM puts in front of the webhook, and the CSV fails with InstallComponentFailed.",
    help: "use a number from 1 to 65535, or the name of a port of the container",
    source: "operator-lifecycle-manager, pkg/controller/install/certresources.go (getServicePort)",
    check: Check::Webhook(check),
};

fn check(webhook: &Webhook<'_>, errors: &mut Errors<'_, '_>) {
    match &webhook.typed.target_port {
        // Without a target, the Service's own port is taken.
        None | Some(IntOrString::Int(0)) => {}
        Some(IntOrString::String(name)) if name.is_empty() => {}
        Some(target) => {
            errors.check(&webhook.path.field("targetPort"), numbers::port_or_name(target));
        }
    }
}
