use std::collections::HashSet;

use k8s_openapi::api::core::v1::Toleration;

use crate::kubernetes::paths;
use crate::prelude::*;
use crate::workload::tolerations;

pub(crate) static RULE: Rule = Rule {
    id: "pod-annotation-value-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An annotation that Kubernetes reads from pods has an invalid value: seccomp and AppArmor profiles, tolerations, mirror pods, the deletion cost.",
    impacts: &[Impact::DeploymentRejected],
    help: "replace the annotation with the field of the pod or its security context",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidatePodSpecificAnnotations"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

/// The beginnings of the keys whose values are validated.
const KEYS: [&str; 6] = [
    "container.apparmor.security.beta.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
    "controller.kubernetes.io/pod-deletion-cost",
    "kubernetes.io/config.mirror",
    "scheduler.alpha.kubernetes.io/tolerations",
    "seccomp.security.alpha.kubernetes.io/pod",
];

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let path = template.path.field("metadata.annotations");
    let mut containers = HashSet::new();
    template.each_container(|container, _, _| {
        containers.insert(container.name.as_str());
    });
    for (key, value) in template.annotations_with(&KEYS) {
        let path = path.key(key);
        match key {
            "kubernetes.io/config.mirror"
                if template.spec.node_name.as_ref().is_none_or(String::is_empty) =>
            {
                errors.add(&path, "a mirror pod requires `nodeName`");
            }
            "controller.kubernetes.io/pod-deletion-cost" if !is_cost(value) => {
                errors.add(&path, format!("invalid deletion cost `{value}`: must be a 32-bit integer"));
            }
            "scheduler.alpha.kubernetes.io/tolerations" if !value.is_empty() => {
                match kube_yaml::json::from_str::<Option<Vec<Toleration>>>(value) {
                    Ok(list) => {
                        let faults = list.iter().flatten().flat_map(tolerations::faults);
                        faults.for_each(|(field, message)| errors.add(&path, format!("{field}: {message}")));
                    }
                    Err(_) => errors.add(&path, "invalid value: must be a JSON list of tolerations"),
                }
            }
            "seccomp.security.alpha.kubernetes.io/pod" => {
                errors.check(&path, seccomp(value));
            }
            _ if key.starts_with("container.seccomp.security.alpha.kubernetes.io/") => {
                errors.check(&path, seccomp(value));
            }
            _ => {
                if let Some(container) = key.strip_prefix("container.apparmor.security.beta.kubernetes.io/") {
                    if !containers.contains(container) {
                        errors.add(&path, format!("unknown container `{container}`"));
                    } else if !is_apparmor(value) {
                        errors.add(&path, format!("invalid AppArmor profile `{value}`"));
                    }
                }
            }
        }
    }
}

fn is_cost(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    // A plus sign and leading zeros are rejected.
    let begins = value == "0" || digits.bytes().next().is_some_and(|byte| (b'1'..=b'9').contains(&byte));
    begins && value.parse::<i32>().is_ok()
}

fn is_apparmor(value: &str) -> bool {
    matches!(value, "" | "runtime/default" | "unconfined") || value.starts_with("localhost/")
}

fn seccomp(value: &str) -> Result<(), String> {
    match value {
        "runtime/default" | "docker/default" | "unconfined" => Ok(()),
        _ => match value.strip_prefix("localhost/") {
            Some(profile) => paths::descending(profile),
            None => Err(format!("invalid seccomp profile `{value}`")),
        },
    }
}
