use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-os-field-forbidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod for one operating system sets a field that only the other one supports.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove the field, or remove os",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateLinux", "validateWindows"],
    )
    .since("1.24")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    match template.os() {
        Some("linux") => linux(template, errors),
        Some("windows") => windows(template, errors),
        _ => {}
    }
}

fn linux(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if template.security().is_some_and(|security| security.windows_options.is_some()) {
        let path = template.spec_path.field("securityContext.windowsOptions");
        errors.add(&path, "unexpected `windowsOptions`: not supported on `linux`");
    }
    template.each_container(|container, path, _| {
        if container.security_context.as_ref().is_some_and(|security| security.windows_options.is_some()) {
            errors.add(
                &path.field("securityContext.windowsOptions"),
                "unexpected `windowsOptions`: not supported on `linux`",
            );
        }
    });
}

fn windows(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let spec = template.spec;
    let mut forbid = |path: &Path<'_>, field: &str, set: bool| {
        if set {
            errors.add(&path.field(field), format!("unexpected `{field}`: not supported on `windows`"));
        }
    };
    forbid(template.spec_path, "hostUsers", spec.host_users.is_some());
    forbid(template.spec_path, "hostPID", spec.host_pid == Some(true));
    forbid(template.spec_path, "hostIPC", spec.host_ipc == Some(true));
    forbid(template.spec_path, "shareProcessNamespace", spec.share_process_namespace.is_some());
    let path = template.spec_path.field("securityContext");
    if let Some(security) = template.security() {
        forbid(&path, "appArmorProfile", security.app_armor_profile.is_some());
        forbid(&path, "seLinuxOptions", security.se_linux_options.is_some());
        forbid(&path, "seccompProfile", security.seccomp_profile.is_some());
        forbid(&path, "fsGroup", security.fs_group.is_some());
        forbid(&path, "fsGroupChangePolicy", security.fs_group_change_policy.is_some());
        forbid(&path, "sysctls", security.sysctls.as_ref().is_some_and(|list| !list.is_empty()));
        forbid(&path, "runAsUser", security.run_as_user.is_some());
        forbid(&path, "runAsGroup", security.run_as_group.is_some());
        forbid(&path, "supplementalGroups", security.supplemental_groups.is_some());
        forbid(&path, "supplementalGroupsPolicy", security.supplemental_groups_policy.is_some());
        forbid(&path, "seLinuxChangePolicy", security.se_linux_change_policy.is_some());
    }
    template.each_container(|container, path, _| {
        let Some(security) = &container.security_context else { return };
        let path = path.field("securityContext");
        forbid(&path, "appArmorProfile", security.app_armor_profile.is_some());
        forbid(&path, "seLinuxOptions", security.se_linux_options.is_some());
        forbid(&path, "seccompProfile", security.seccomp_profile.is_some());
        forbid(&path, "capabilities", security.capabilities.is_some());
        forbid(&path, "readOnlyRootFilesystem", security.read_only_root_filesystem.is_some());
        forbid(&path, "privileged", security.privileged.is_some());
        forbid(&path, "allowPrivilegeEscalation", security.allow_privilege_escalation.is_some());
        forbid(&path, "procMount", security.proc_mount.is_some());
        forbid(&path, "runAsUser", security.run_as_user.is_some());
        forbid(&path, "runAsGroup", security.run_as_group.is_some());
    });
}
