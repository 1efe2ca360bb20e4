use k8s_openapi::api::core::v1::AppArmorProfile;

use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-apparmor-profile-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An AppArmor profile has no type or an unknown one, or a name without the type Localhost, or the other way round.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "use RuntimeDefault, or Localhost with localhostProfile",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateAppArmorProfileField)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
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

fn validate(profile: &AppArmorProfile, path: &Path<'_>, errors: &mut Errors<'_, '_>) {
    errors.one_of(&path.field("type"), &profile.type_, &["Localhost", "RuntimeDefault", "Unconfined"]);
    let name = path.field("localhostProfile");
    match (profile.localhost_profile.as_deref(), profile.type_.as_str()) {
        (None | Some(""), "Localhost") => errors.add(&name, "the type Localhost needs a localhostProfile"),
        (Some(text), "Localhost") if text.trim() != text => {
            errors.add(&name, "the name begins or ends with a space");
        }
        (Some(text), "Localhost") if text.len() > 4095 => {
            errors.add(&name, "the name is longer than 4095 bytes");
        }
        (Some(_), "RuntimeDefault" | "Unconfined") => {
            errors.add(&name, "localhostProfile goes with the type Localhost only");
        }
        _ => {}
    }
}
