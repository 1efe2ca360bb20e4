use crate::prelude::*;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "pod-resize-policy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The resize policy of a container names an unknown resource or policy, or a resource twice.",
    impacts: &[Impact::DeploymentRejected],
    help: "add one entry each for cpu and memory, with `NotRequired` or `RestartContainer`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateResizePolicy"],
    )
    .since("1.33")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, role| {
        let list = path.field("resizePolicy");
        let mut seen = BTreeSet::new();
        for (index, item) in container.resize_policy.iter().flatten().enumerate() {
            let path = list.index(index);
            errors.one_of(&path.field("resourceName"), &item.resource_name, &["cpu", "memory"]);
            errors.one_of(
                &path.field("restartPolicy"),
                &item.restart_policy,
                &["NotRequired", "RestartContainer"],
            );
            if role == ContainerRole::Init && item.restart_policy == "RestartContainer" && errors.since(36) {
                let message = "unsupported restartPolicy `RestartContainer`: an init container that is no sidecar runs once";
                errors.add(&path.field("restartPolicy"), message);
            }
            if !seen.insert(&item.resource_name) {
                errors.add(&path, format!("duplicate policy for resource `{}`", item.resource_name));
            }
        }
    });
}
