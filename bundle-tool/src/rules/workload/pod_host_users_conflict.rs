use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "pod-host-users-conflict",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod with `hostUsers: false` uses namespaces of the host or block devices.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove `hostUsers: false`, or remove hostNetwork, hostPID, hostIPC and volumeDevices",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateHostUsers"],
    )
    .since("1.33")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if template.host_users() {
        return;
    }
    for (field, set) in [
        ("hostNetwork", template.spec.host_network),
        ("hostPID", template.spec.host_pid),
        ("hostIPC", template.spec.host_ipc),
    ] {
        if set == Some(true) {
            errors.add(
                &template.spec_path.field(field),
                format!("`{field}` and `hostUsers: false` are mutually exclusive"),
            );
        }
    }
    template.each_container(|container, path, _| {
        if container.volume_devices.as_ref().is_some_and(|devices| !devices.is_empty()) {
            errors.add(
                &path.field("volumeDevices"),
                "`volumeDevices` and `hostUsers: false` are mutually exclusive",
            );
        }
    });
}
