use super::resources;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-level-resources-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The resources of a whole pod name something that pods do not have as a whole, or are less than its containers have together.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "use cpu, memory and hugepages-SIZE; request at least what the containers request together",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validatePodResources)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let Some(requirements) = &template.spec.resources else { return };
    let path = template.spec_path.field("resources");
    if template.os() == Some("windows") {
        errors.add(&path, "a pod for Windows has no resources as a whole");
        return;
    }
    if requirements.claims.is_some() {
        errors.add(&path.field("claims"), "claims belong to containers, not to the whole pod");
    }
    resources::validate(requirements, resources::pod_name, &path, errors);
    resources::compare(requirements, &path, errors);
    resources::totals(template.spec, requirements, &path, errors);
}
