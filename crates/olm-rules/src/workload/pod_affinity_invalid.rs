use k8s_openapi::api::core::v1::{PodAffinityTerm, WeightedPodAffinityTerm};

use crate::kubernetes::{names, selectors};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-affinity-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A pod affinity or anti-affinity term has no topology key, an invalid selector or namespace, or a weight outside of 1 to 100.",
    impacts: &[Impact::DeploymentRejected],
    help: "set topologyKey, such as `kubernetes.io/hostname`, and labelSelector in each term",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validatePodAffinity", "validatePodAntiAffinity"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Some(affinity) = &template.spec.affinity else { return };
    let path = template.spec_path.field("affinity");
    if let Some(pods) = &affinity.pod_affinity {
        let required = pods.required_during_scheduling_ignored_during_execution.as_ref();
        let preferred = pods.preferred_during_scheduling_ignored_during_execution.as_ref();
        terms(required, preferred, &path.field("podAffinity"), errors);
    }
    if let Some(pods) = &affinity.pod_anti_affinity {
        let required = pods.required_during_scheduling_ignored_during_execution.as_ref();
        let preferred = pods.preferred_during_scheduling_ignored_during_execution.as_ref();
        terms(required, preferred, &path.field("podAntiAffinity"), errors);
    }
}

fn terms(
    required: Option<&Vec<PodAffinityTerm>>,
    preferred: Option<&Vec<WeightedPodAffinityTerm>>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let list = path.field("requiredDuringSchedulingIgnoredDuringExecution");
    for (index, one) in required.into_iter().flatten().enumerate() {
        term(one, &list.index(index), errors);
    }
    let list = path.field("preferredDuringSchedulingIgnoredDuringExecution");
    for (index, one) in preferred.into_iter().flatten().enumerate() {
        let path = list.index(index);
        if !(1..=100).contains(&one.weight) {
            errors.add(
                &path.field("weight"),
                format!("invalid weight {}: must be between 1 and 100", one.weight),
            );
        }
        term(&one.pod_affinity_term, &path.field("podAffinityTerm"), errors);
    }
}

fn term(term: &PodAffinityTerm, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    selectors::validate(term.label_selector.as_ref(), &path.field("labelSelector"), errors);
    selectors::validate(term.namespace_selector.as_ref(), &path.field("namespaceSelector"), errors);
    let list = path.field("namespaces");
    for (index, namespace) in term.namespaces.iter().flatten().enumerate() {
        errors.check(&list.index(index), names::dns_label(namespace));
    }
    let matching = term.match_label_keys.as_deref().unwrap_or_default();
    let differing = term.mismatch_label_keys.as_deref().unwrap_or_default();
    selectors::label_keys(term.label_selector.as_ref(), matching, differing, path, errors);
    let key = path.field("topologyKey");
    if errors.required(&key, &term.topology_key) {
        errors.check(&key, names::label_key(&term.topology_key));
    }
}
