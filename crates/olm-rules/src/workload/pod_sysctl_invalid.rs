use crate::prelude::*;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "pod-sysctl-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A sysctl of the pod has a missing, invalid or duplicate name, or belongs to a namespace of the host.",
    impacts: &[Impact::DeploymentRejected],
    help: "list each sysctl once, such as `net.core.somaxconn`, and remove those of host namespaces",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateSysctls"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Some(security) = template.security() else { return };
    let list = template.spec_path.field("securityContext.sysctls");
    let mut seen = BTreeSet::new();
    for (index, sysctl) in security.sysctls.iter().flatten().enumerate() {
        let path = list.index(index);
        let path = path.field("name");
        if !errors.required(&path, &sysctl.name) {
            continue;
        }
        // Slashes may separate the parts, in which case dots are part of a name.
        let name = normalized(&sysctl.name);
        if !is_name(&sysctl.name) {
            errors.add(&path, format!("invalid sysctl name `{}`", sysctl.name));
        } else if !seen.insert(&sysctl.name) {
            errors.add(&path, format!("duplicate sysctl `{}`", sysctl.name));
        } else if template.host_network() && name.starts_with("net.") {
            errors
                .add(&path, format!("forbidden sysctl `{}`: not supported in the host network", sysctl.name));
        } else if template.spec.host_ipc == Some(true) && is_ipc(&name) {
            errors.add(
                &path,
                format!("forbidden sysctl `{}`: not supported with `hostIPC: true`", sysctl.name),
            );
        }
    }
}

fn is_name(name: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 253
        && name.split(['.', '/']).all(|part| {
            let bytes = part.as_bytes();
            bytes.first().is_some_and(|byte| alphanumeric(*byte))
                && bytes.last().is_some_and(|byte| alphanumeric(*byte))
                && bytes.iter().all(|byte| alphanumeric(*byte) || b"-_".contains(byte))
        })
}

fn normalized(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(at) if name.as_bytes()[at] == b'/' => name
            .chars()
            .map(|c| {
                if c == '/' {
                    '.'
                } else if c == '.' {
                    '/'
                } else {
                    c
                }
            })
            .collect(),
        _ => name.to_owned(),
    }
}

fn is_ipc(name: &str) -> bool {
    name.starts_with("fs.mqueue.")
        || [
            "kernel.sem",
            "kernel.shmall",
            "kernel.shmmax",
            "kernel.shmmni",
            "kernel.shm_rmid_forced",
            "kernel.shm",
            "kernel.msgmax",
            "kernel.msgmnb",
            "kernel.msgmni",
            "kernel.msg",
        ]
        .contains(&name)
}
