use crate::kubernetes::{addresses, names};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-host-alias-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A host alias has an invalid IP address or host name.",
    impacts: &[Impact::DeploymentRejected],
    help: "set ip and hostnames in each entry of hostAliases",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateHostAliases"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let list = template.spec_path.field("hostAliases");
    for (index, alias) in template.spec.host_aliases.iter().flatten().enumerate() {
        let path = list.index(index);
        let verdict = addresses::ip(&alias.ip, &|| errors.since(addresses::STRICT));
        errors.check(&path.field("ip"), verdict);
        let list = path.field("hostnames");
        for (index, name) in alias.hostnames.iter().flatten().enumerate() {
            errors.check(&list.index(index), names::dns_subdomain(name));
        }
    }
}
