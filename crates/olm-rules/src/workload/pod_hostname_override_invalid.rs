use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-hostname-override-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `hostnameOverride` of a pod is not a DNS name of at most 64 characters, or conflicts with another field.",
    impacts: &[Impact::DeploymentRejected],
    help: "set hostnameOverride to a DNS name, without hostNetwork and setHostnameAsFQDN",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateHostnameOverride"],
    )
    .since("1.35")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let spec = template.spec;
    let Some(name) = &spec.hostname_override else { return };
    let path = template.spec_path.field("hostnameOverride");
    for (field, set) in [("setHostnameAsFQDN", spec.set_hostname_as_fqdn), ("hostNetwork", spec.host_network)]
    {
        if set == Some(true) {
            errors.add(&path, format!("`hostnameOverride` and `{field}: true` are mutually exclusive"));
        }
    }
    if name.len() > 64 {
        errors.add(&path, format!("hostname of {} characters exceeds the limit of 64", name.len()));
    }
    errors.check(&path, names::dns_subdomain(name));
}
