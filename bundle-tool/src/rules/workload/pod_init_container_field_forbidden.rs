use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::{PodTemplate, Role};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-init-container-field-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An init container has a probe or a lifecycle, which only containers that keep running have.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "take them out, or make it a sidecar with restartPolicy: Always",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateInitContainers)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, role| {
        if role != Role::Init {
            return;
        }
        for (field, set) in [
            ("lifecycle", container.lifecycle.is_some()),
            ("livenessProbe", container.liveness_probe.is_some()),
            ("readinessProbe", container.readiness_probe.is_some()),
            ("startupProbe", container.startup_probe.is_some()),
        ] {
            if set {
                errors.add(&path.field(field), format!("an init container has no {field}"));
            }
        }
    });
}
