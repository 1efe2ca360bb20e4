use super::handlers;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::{PodTemplate, Role};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-lifecycle-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "postStart or preStop has no handler, several, or one that cannot work, such as a sleep longer than the grace period.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "set one of exec, httpGet, tcpSocket and sleep; sleep no longer than terminationGracePeriodSeconds",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateLifecycle)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let grace = template.spec.termination_grace_period_seconds.unwrap_or_default();
    template.each_container(|container, path, role| {
        let Some(lifecycle) = container.lifecycle.as_ref().filter(|_| role != Role::Init) else { return };
        let path = path.field("lifecycle");
        for (field, handler) in [("postStart", &lifecycle.post_start), ("preStop", &lifecycle.pre_stop)] {
            if let Some(handler) = handler {
                handlers::lifecycle(handler, grace, &path.field(field), errors);
            }
        }
    });
}
