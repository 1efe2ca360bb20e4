use std::collections::BTreeSet;

use super::resources;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-resource-claim-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A resource claim of the pod has no name, no source or two, or a container uses one that the pod does not have.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give each of resourceClaims a name and a resourceClaimName or resourceClaimTemplateName, and use these names",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validatePodResourceClaims, validateResourceClaimNames)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let list = template.spec_path.field("resourceClaims");
    let mut named = BTreeSet::new();
    for (index, claim) in template.spec.resource_claims.iter().flatten().enumerate() {
        let path = list.index(index);
        let name = path.field("name");
        if errors.required(&name, &claim.name)
            && errors.check(&name, names::dns_label(&claim.name))
            && !named.insert(claim.name.as_str())
        {
            errors.add(&name, format!("another claim is named '{}'", claim.name));
        }
        let sources = [
            ("resourceClaimName", &claim.resource_claim_name),
            ("resourceClaimTemplateName", &claim.resource_claim_template_name),
        ];
        match sources.iter().filter(|(_, source)| source.is_some()).count() {
            0 => errors.add(&path, "neither resourceClaimName nor resourceClaimTemplateName is set"),
            1 => {}
            _ => errors.add(&path, "resourceClaimName and resourceClaimTemplateName are both set"),
        }
        for (field, source) in sources {
            if let Some(source) = source {
                errors.check(&path.field(field), names::dns_subdomain(source));
            }
        }
    }
    let known = template.spec.resource_claims.iter().flatten().map(|claim| claim.name.as_str()).collect();
    template.each_container(|container, path, _| {
        if let Some(requirements) = &container.resources {
            resources::claims(requirements, &known, &path.field("resources"), errors);
        }
    });
}
