use super::handlers;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-lifecycle-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A lifecycle hook has no handler, several, or an invalid one.",
    impacts: &[Impact::DeploymentRejected],
    help: "set one of exec, httpGet, tcpSocket and sleep; a sleep must not exceed terminationGracePeriodSeconds",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateLifecycle"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let grace = template.spec.termination_grace_period_seconds.unwrap_or_default();
    template.each_container(|container, path, role| {
        let Some(lifecycle) = container.lifecycle.as_ref().filter(|_| role != ContainerRole::Init) else {
            return;
        };
        let path = path.field("lifecycle");
        for (field, handler) in [("postStart", &lifecycle.post_start), ("preStop", &lifecycle.pre_stop)] {
            if let Some(handler) = handler {
                handlers::lifecycle(handler, grace, &path.field(field), errors);
            }
        }
    });
}
