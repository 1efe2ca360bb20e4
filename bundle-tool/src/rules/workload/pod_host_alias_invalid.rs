use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, addresses, names};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-host-alias-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An entry for /etc/hosts has no IP address or a name that is no DNS name.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give each of hostAliases an ip and hostnames",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateHostAliases)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let list = template.spec_path.field("hostAliases");
    for (index, alias) in template.spec.host_aliases.iter().flatten().enumerate() {
        let path = list.index(index);
        errors.check(&path.field("ip"), addresses::ip(&alias.ip));
        let list = path.field("hostnames");
        for (index, name) in alias.hostnames.iter().flatten().enumerate() {
            errors.check(&list.index(index), names::dns_subdomain(name));
        }
    }
}
