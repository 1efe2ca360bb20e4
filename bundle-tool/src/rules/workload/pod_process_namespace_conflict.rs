use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-process-namespace-conflict",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod shares one process namespace among its containers and takes the host's.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "leave one of shareProcessNamespace and hostPID",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validatePodSpecSecurityContext)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if template.spec.share_process_namespace == Some(true) && template.spec.host_pid == Some(true) {
        let path = template.spec_path.field("shareProcessNamespace");
        errors.add(&path, "shareProcessNamespace and hostPID are both on");
    }
}
