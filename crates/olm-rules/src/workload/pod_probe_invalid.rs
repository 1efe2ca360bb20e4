use super::handlers;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-probe-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A probe has no handler, several, an invalid one, or invalid numbers.",
    impacts: &[Impact::DeploymentRejected],
    help: "set one of exec, httpGet, tcpSocket and grpc; set successThreshold of liveness and startup probes to 1",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateProbe"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, role| {
        if role == ContainerRole::Init {
            return;
        }
        for (field, probe) in [
            ("livenessProbe", &container.liveness_probe),
            ("readinessProbe", &container.readiness_probe),
            ("startupProbe", &container.startup_probe),
        ] {
            let Some(probe) = probe else { continue };
            let path = path.field(field);
            handlers::probe(probe, &path, errors);
            let success = path.field("successThreshold");
            for (name, value) in [
                ("initialDelaySeconds", probe.initial_delay_seconds),
                ("timeoutSeconds", probe.timeout_seconds),
                ("periodSeconds", probe.period_seconds),
                ("failureThreshold", probe.failure_threshold),
            ] {
                errors.not_negative(&path.field(name), value.unwrap_or_default());
            }
            let threshold = probe.success_threshold.unwrap_or_default();
            if field == "readinessProbe" {
                errors.not_negative(&success, threshold);
            } else if threshold != 1 {
                errors.add(&success, format!("invalid threshold {threshold}: must be 1 for `{field}`"));
            }
            if let Some(seconds) = probe.termination_grace_period_seconds {
                let path = path.field("terminationGracePeriodSeconds");
                if field == "readinessProbe" {
                    errors.add(
                        &path,
                        "unexpected `terminationGracePeriodSeconds`: not supported for `readinessProbe`",
                    );
                } else if seconds <= 0 {
                    errors.add(&path, format!("invalid grace period {seconds}: must be greater than 0"));
                }
            }
        }
    });
}
