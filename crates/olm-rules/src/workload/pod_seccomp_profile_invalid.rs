use k8s_openapi::api::core::v1::SeccompProfile;

use crate::kubernetes::paths;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-seccomp-profile-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A seccomp profile has a missing or unknown type, or its type and its file do not match.",
    impacts: &[Impact::DeploymentRejected],
    help: "set type to `RuntimeDefault`, or to `Localhost` with localhostProfile",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateSeccompProfileField"],
    )
    .since("1.19")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if let Some(profile) = template.security().and_then(|security| security.seccomp_profile.as_ref()) {
        validate(profile, &template.spec_path.field("securityContext.seccompProfile"), errors);
    }
    template.each_container(|container, path, _| {
        let security = container.security_context.as_ref();
        if let Some(profile) = security.and_then(|security| security.seccomp_profile.as_ref()) {
            validate(profile, &path.field("securityContext.seccompProfile"), errors);
        }
    });
}

fn validate(profile: &SeccompProfile, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    errors.one_of(&path.field("type"), &profile.type_, &["Localhost", "RuntimeDefault", "Unconfined"]);
    let file = path.field("localhostProfile");
    match (&profile.localhost_profile, profile.type_.as_str()) {
        (None, "Localhost") => {
            errors.add(&file, "missing required field `localhostProfile` for type `Localhost`");
        }
        (Some(name), "Localhost") => {
            errors.check(&file, paths::descending(name));
        }
        (Some(_), _) => {
            errors.add(&file, "unexpected `localhostProfile`: only supported for type `Localhost`");
        }
        (None, _) => {}
    }
}
