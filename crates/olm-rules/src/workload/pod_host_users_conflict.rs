use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
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

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
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
        let has_devices = container.volume_devices.as_ref().is_some_and(|devices| !devices.is_empty());
        // `UserNamespacesWithVolumeDevices`
        if has_devices && errors.since(34) {
            errors.add(
                &path.field("volumeDevices"),
                "`volumeDevices` and `hostUsers: false` are mutually exclusive",
            );
        }
    });
}
