use crate::prelude::*;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "pod-container-name-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Two containers of a pod, including init containers, have the same name.",
    impacts: &[Impact::DeploymentRejected],
    help: "give each container a unique name",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateContainers", "validateInitContainers"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let mut seen = BTreeSet::new();
    template.each_container(|container, path, _| {
        if !container.name.is_empty() && !seen.insert(&container.name) {
            errors.add(&path.field("name"), format!("duplicate container name `{}`", container.name));
        }
    });
}
