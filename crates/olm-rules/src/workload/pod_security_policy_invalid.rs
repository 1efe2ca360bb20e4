use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-security-policy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A security context sets an unknown value for `fsGroupChangePolicy`, `supplementalGroupsPolicy`, `seLinuxChangePolicy`, or the `procMount` of a container.",
    impacts: &[Impact::DeploymentRejected],
    help: "set the field to one of the allowed values, or remove it",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validatePodSpecSecurityContext", "ValidateProcMountType"],
    )
    .since("1.20")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if let Some(security) = template.security() {
        let path = template.spec_path.field("securityContext");
        if let Some(policy) = &security.fs_group_change_policy {
            errors.one_of(&path.field("fsGroupChangePolicy"), policy, &["OnRootMismatch", "Always"]);
        }
        if let Some(policy) = &security.supplemental_groups_policy {
            errors.one_of(&path.field("supplementalGroupsPolicy"), policy, &["Merge", "Strict"]);
        }
        if let Some(policy) = &security.se_linux_change_policy {
            let known = ["Recursive", "MountOption"];
            // `MountOption` requires the feature SELinuxMount.
            let count =
                if policy == "MountOption" && !errors.since(SE_LINUX_MOUNT) { 1 } else { known.len() };
            errors.one_of(&path.field("seLinuxChangePolicy"), policy, &known[..count]);
        }
    }
    template.each_container(|container, path, _| {
        let security = container.security_context.as_ref();
        if let Some(kind) = security.and_then(|security| security.proc_mount.as_ref()) {
            let path = path.field("securityContext.procMount");
            errors.one_of(&path, kind, &["Default", "Unmasked"]);
            if kind == "Unmasked" && template.host_users() {
                errors.add(&path, "`Unmasked` requires `hostUsers: false`");
            }
        }
    });
}

/// The first version of Kubernetes that mounts volumes with a label (`SELinuxMount`).
const SE_LINUX_MOUNT: u16 = 37;
