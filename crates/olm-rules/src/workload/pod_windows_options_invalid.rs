use k8s_openapi::api::core::v1::WindowsSecurityContextOptions;

use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-windows-options-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The Windows options of a security context have an invalid name, or host processes that do not match the pod.",
    impacts: &[Impact::DeploymentRejected],
    help: "correct the name; use host processes for all containers of the pod, with `hostNetwork: true`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateWindowsSecurityContextOptions", "validateWindowsHostProcessPod"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let own = template.security().and_then(|security| security.windows_options.as_ref());
    if let Some(options) = own {
        validate(options, &template.spec_path.field("securityContext.windowsOptions"), errors);
    }
    let inherited = own.and_then(|options| options.host_process);
    let (mut containers, mut host_processes) = (0, 0);
    template.each_container(|container, path, _| {
        containers += 1;
        let security = container.security_context.as_ref();
        let options = security.and_then(|security| security.windows_options.as_ref());
        let path = path.field("securityContext.windowsOptions");
        if let Some(options) = options {
            validate(options, &path, errors);
        }
        let explicit = options.and_then(|options| options.host_process);
        if let (Some(pod), Some(container)) = (inherited, explicit)
            && pod != container
        {
            errors.add(
                &path.field("hostProcess"),
                format!("conflicting hostProcess `{container}`: the pod sets `{pod}`"),
            );
        }
        if explicit.or(inherited) == Some(true) {
            host_processes += 1;
        }
    });
    if host_processes > 0 {
        if host_processes != containers {
            errors.add(
                &template.spec_path.field("containers"),
                "either all containers or none must be host processes",
            );
        }
        if !template.host_network() {
            errors
                .add(&template.spec_path.field("hostNetwork"), "host processes require `hostNetwork: true`");
        }
    }
}

fn validate(options: &WindowsSecurityContextOptions, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if let Some(name) = &options.gmsa_credential_spec_name {
        errors.check(&path.field("gmsaCredentialSpecName"), names::dns_subdomain(name));
    }
    if let Some(content) = &options.gmsa_credential_spec {
        let path = path.field("gmsaCredentialSpec");
        if content.is_empty() {
            errors.add(&path, "`gmsaCredentialSpec` must not be empty");
        } else if content.len() > 64 << 10 {
            errors.add(&path, "`gmsaCredentialSpec` exceeds the limit of 65536 bytes");
        }
    }
    if let Some(name) = &options.run_as_user_name {
        errors.check(&path.field("runAsUserName"), user_name(name));
    }
}

/// Validates a user name, optionally after a domain and a backslash.
fn user_name(text: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(names::invalid("user name", text, why));
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control()) {
        return wrong("must not be empty or contain control characters");
    }
    let (domain, user) = match text.split_once('\\') {
        Some((domain, user)) => (Some(domain), user),
        None => (None, text),
    };
    if user.contains('\\') {
        return wrong("must not contain several backslashes");
    }
    if let Some(domain) = domain
        && (domain.len() >= 256 || !(is_netbios(domain) || is_dns(domain)))
    {
        return wrong("the domain must be a NetBIOS or DNS name");
    }
    if user.is_empty() || user.len() > 104 {
        return wrong("the user must have between 1 and 104 characters");
    }
    if user.chars().all(|c| c == '.' || c == ' ')
        || user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']'])
    {
        return wrong(
            "the user must neither consist only of dots and spaces nor contain any of `\"/:;|=,+*?<>@[]`",
        );
    }
    Ok(())
}

fn is_netbios(domain: &str) -> bool {
    let forbidden = ['\\', '/', ':', '*', '?', '"', '<', '>', '|'];
    (1..=15).contains(&domain.chars().count()) && !domain.starts_with('.') && !domain.contains(forbidden)
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let alphanumeric = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_alphanumeric());
        label.len() <= 63
            && alphanumeric(label.bytes().next())
            && alphanumeric(label.bytes().last())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}
