use crate::prelude::*;
use k8s_openapi::api::core::v1::AppArmorProfile;

pub(crate) static RULE: Rule = Rule {
    id: "pod-apparmor-profile-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An AppArmor profile has a missing or unknown type, or its type and its name do not match.",
    impacts: &[Impact::DeploymentRejected],
    help: "set type to `RuntimeDefault`, or to `Localhost` with localhostProfile",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateAppArmorProfileField"],
    )
    .since("1.30")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if let Some(profile) = template.security().and_then(|security| security.app_armor_profile.as_ref()) {
        validate(profile, &template.spec_path.field("securityContext.appArmorProfile"), errors);
    }
    template.each_container(|container, path, _| {
        let security = container.security_context.as_ref();
        if let Some(profile) = security.and_then(|security| security.app_armor_profile.as_ref()) {
            validate(profile, &path.field("securityContext.appArmorProfile"), errors);
        }
    });
}

fn validate(profile: &AppArmorProfile, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    errors.one_of(&path.field("type"), &profile.type_, &["Localhost", "RuntimeDefault", "Unconfined"]);
    let name = path.field("localhostProfile");
    match (profile.localhost_profile.as_deref(), profile.type_.as_str()) {
        (None | Some(""), "Localhost") => {
            errors.add(&name, "missing required field `localhostProfile` for type `Localhost`");
        }
        (Some(text), "Localhost") if text.trim() != text => {
            errors.add(&name, "invalid profile name: must not start or end with whitespace");
        }
        (Some(text), "Localhost") if text.len() > 4095 => {
            errors.add(&name, "profile name exceeds the limit of 4095 bytes");
        }
        (Some(_), "RuntimeDefault" | "Unconfined") => {
            errors.add(&name, "unexpected `localhostProfile`: only supported for type `Localhost`");
        }
        _ => {}
    }
}
