use std::collections::BTreeSet;

use super::resources;
use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-resource-claim-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A resource claim of the pod has no name or not exactly one source, or a container uses a claim that the pod does not declare.",
    impacts: &[Impact::DeploymentRejected],
    help: "set name and either resourceClaimName or resourceClaimTemplateName in each entry of resourceClaims, and use these names in containers",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validatePodResourceClaims", "validateResourceClaimNames"],
    )
    .since("1.34")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let list = template.spec_path.field("resourceClaims");
    let mut named = BTreeSet::new();
    for (index, claim) in template.spec.resource_claims.iter().flatten().enumerate() {
        let path = list.index(index);
        let name = path.field("name");
        if errors.required(&name, &claim.name)
            && errors.check(&name, names::dns_label(&claim.name))
            && !named.insert(claim.name.as_str())
        {
            errors.add(&name, format!("duplicate claim name `{}`", claim.name));
        }
        let sources = [
            ("resourceClaimName", &claim.resource_claim_name),
            ("resourceClaimTemplateName", &claim.resource_claim_template_name),
        ];
        match sources.iter().filter(|(_, source)| source.is_some()).count() {
            0 => errors
                .add(&path, "missing source: `resourceClaimName` or `resourceClaimTemplateName` must be set"),
            1 => {}
            _ => errors
                .add(&path, "`resourceClaimName` and `resourceClaimTemplateName` are mutually exclusive"),
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
