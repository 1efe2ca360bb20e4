use crate::rules::kubernetes::names;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "pod-env-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An environment variable has no name, or its name or the prefix of `envFrom` contains `=` or characters that are not printable ASCII.",
    impacts: &[Impact::DeploymentRejected],
    help: "use letters, digits and `_` in the name",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateEnv", "ValidateEnvFrom"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("env");
        for (index, variable) in container.env.iter().flatten().enumerate() {
            let path = list.index(index);
            let path = path.field("name");
            if errors.required(&path, &variable.name) {
                errors.check(&path, names::environment_variable(&variable.name));
            }
        }
        let list = path.field("envFrom");
        for (index, source) in container.env_from.iter().flatten().enumerate() {
            if let Some(prefix) = source.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
                errors.check(&list.index(index).field("prefix"), names::environment_variable(prefix));
            }
        }
    });
}
