use crate::prelude::*;
use k8s_openapi::api::core::v1::SeccompProfile;

pub(crate) static RULE: Rule = Rule {
    id: "pod-annotation-field-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A seccomp or AppArmor annotation differs from the profile of the security context.",
    impacts: &[Impact::DeploymentRejected],
    help: "remove the annotation, which the field replaces",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateSeccompAnnotationsAndFields", "validateAppArmorAnnotationsAndFieldsMatchOnCreate"],
    )
    .since("1.19")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let path = template.spec_path.field("securityContext");
    let pod = template.security();
    if let Some(profile) = pod.and_then(|security| security.seccomp_profile.as_ref())
        && let Some(annotation) = template.annotation("seccomp.security.alpha.kubernetes.io/pod")
    {
        seccomp(annotation, profile, &path.field("seccompProfile"), errors);
    }
    let windows = template.os() == Some("windows");
    let inherited = pod.and_then(|security| security.app_armor_profile.as_ref());
    template.each_container(|container, path, _| {
        let path = path.field("securityContext");
        let own = container.security_context.as_ref();
        let key = format!("container.seccomp.security.alpha.kubernetes.io/{}", container.name);
        if let Some(profile) = own.and_then(|security| security.seccomp_profile.as_ref())
            && let Some(annotation) = template.annotation(&key)
        {
            seccomp(annotation, profile, &path.field("seccompProfile"), errors);
        }
        let key = format!("container.apparmor.security.beta.kubernetes.io/{}", container.name);
        if let Some(profile) = own.and_then(|security| security.app_armor_profile.as_ref()).or(inherited)
            && let Some(annotation) = template.annotation(&key)
            && !windows
        {
            let valid = match profile.type_.as_str() {
                "Unconfined" => annotation == "unconfined",
                "RuntimeDefault" => annotation == "runtime/default",
                "Localhost" => annotation.strip_prefix("localhost/") == profile.localhost_profile.as_deref(),
                _ => true,
            };
            if !valid {
                let message = format!("profile differs from `{annotation}` in the annotation `{key}`");
                errors.add(&path.field("appArmorProfile"), message);
            }
        }
    });
}

fn seccomp(annotation: &str, profile: &SeccompProfile, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let valid = match profile.type_.as_str() {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => matches!(annotation, "runtime/default" | "docker/default"),
        "Localhost" => annotation
            .strip_prefix("localhost/")
            .is_some_and(|name| Some(name) == profile.localhost_profile.as_deref()),
        _ => true,
    };
    if !valid {
        errors.add(path, format!("profile differs from `{annotation}` in the seccomp annotation"));
    }
}
