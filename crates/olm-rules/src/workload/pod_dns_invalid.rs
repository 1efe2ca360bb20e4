use crate::kubernetes::{addresses, names};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-dns-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The DNS policy is unknown, or the DNS configuration has too many or invalid name servers, search domains or options.",
    impacts: &[Impact::DeploymentRejected],
    help: "set dnsConfig.nameservers for dnsPolicy `None`; use at most 3 name servers and 32 search domains",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateDNSPolicy", "validatePodDNSConfig"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let policy = template.spec.dns_policy.as_deref().unwrap_or_default();
    let known = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    errors.one_of(&template.spec_path.field("dnsPolicy"), policy, &known);
    let path = template.spec_path.field("dnsConfig");
    let config = template.spec.dns_config.as_ref();
    let servers = config.and_then(|config| config.nameservers.as_deref()).unwrap_or_default();
    let list = path.field("nameservers");
    if policy == "None" && servers.is_empty() {
        errors.add(&list, "missing name servers: dnsPolicy `None` requires at least one");
        return;
    }
    let Some(config) = config else { return };
    if servers.len() > 3 {
        errors.add(&list, format!("{} name servers exceed the limit of 3", servers.len()));
    }
    for (index, server) in servers.iter().enumerate() {
        let verdict = addresses::ip(server, &|| errors.since(addresses::STRICT));
        errors.check(&list.index(index), verdict);
    }
    let list = path.field("searches");
    let searches = config.searches.as_deref().unwrap_or_default();
    if searches.len() > 32 {
        errors.add(&list, format!("{} search domains exceed the limit of 32", searches.len()));
    }
    if searches.join(" ").len() > 2048 {
        errors.add(&list, "search domains exceed the limit of 2048 characters in total");
    }
    for (index, search) in searches.iter().enumerate() {
        let name = search.strip_suffix('.').unwrap_or(search);
        let relaxed = if search == "." { Ok(()) } else { names::dns_subdomain_with_underscores(name) };
        let verdict = match names::dns_subdomain(name) {
            Err(message) if relaxed.is_ok() && !errors.since(UNDERSCORES) => Err(message),
            _ => relaxed,
        };
        errors.check(&list.index(index), verdict);
    }
    let list = path.field("options");
    for (index, option) in config.options.iter().flatten().enumerate() {
        errors.required(&list.index(index).field("name"), option.name.as_deref().unwrap_or_default());
    }
}

/// The first version of Kubernetes that accepts `.` and underscores in search domains (`RelaxedDNSSearchValidation`).
const UNDERSCORES: u16 = 33;
