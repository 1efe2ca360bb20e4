use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-name-reference-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The host name, or the name of a service account, node, priority class or runtime class that the pod uses, is invalid.",
    impacts: &[Impact::DeploymentRejected],
    help: "use lowercase letters, digits and `-`; all but hostname and subdomain may also contain `.`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidatePodSpec"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let spec = template.spec;
    let labels = [("hostname", &spec.hostname), ("subdomain", &spec.subdomain)];
    let subdomains = [
        ("serviceAccountName", &spec.service_account_name),
        ("nodeName", &spec.node_name),
        ("priorityClassName", &spec.priority_class_name),
    ];
    for (field, name) in labels {
        if let Some(name) = name.as_deref().filter(|name| !name.is_empty()) {
            errors.check(&template.spec_path.field(field), names::dns_label(name));
        }
    }
    // The deprecated field is used if the new one is not set.
    let old = spec.service_account.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = old.filter(|_| spec.service_account_name.as_ref().is_none_or(String::is_empty)) {
        errors.check(&template.spec_path.field("serviceAccount"), names::dns_subdomain(name));
    }
    for (field, name) in subdomains {
        if let Some(name) = name.as_deref().filter(|name| !name.is_empty()) {
            errors.check(&template.spec_path.field(field), names::dns_subdomain(name));
        }
    }
    if let Some(name) = &spec.runtime_class_name {
        errors.check(&template.spec_path.field("runtimeClassName"), names::dns_subdomain(name));
    }
}
