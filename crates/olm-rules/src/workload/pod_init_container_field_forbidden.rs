use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-init-container-field-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An init container has probes or lifecycle hooks.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove the field, or set `restartPolicy: Always` to make the container a sidecar",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateInitContainers"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, role| {
        if role != ContainerRole::Init {
            return;
        }
        for (field, set) in [
            ("lifecycle", container.lifecycle.is_some()),
            ("livenessProbe", container.liveness_probe.is_some()),
            ("readinessProbe", container.readiness_probe.is_some()),
            ("startupProbe", container.startup_probe.is_some()),
        ] {
            if set {
                errors.add(
                    &path.field(field),
                    format!("unexpected `{field}`: not supported in an init container"),
                );
            }
        }
    });
}
