use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
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

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("env");
        for (index, variable) in container.env.iter().flatten().enumerate() {
            let path = list.index(index);
            let path = path.field("name");
            if errors.required(&path, &variable.name) {
                let verdict = name(&variable.name, errors);
                errors.check(&path, verdict);
            }
        }
        let list = path.field("envFrom");
        for (index, source) in container.env_from.iter().flatten().enumerate() {
            if let Some(prefix) = source.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
                let verdict = name(prefix, errors);
                errors.check(&list.index(index).field("prefix"), verdict);
            }
        }
    });
}

/// The first version of Kubernetes that accepts all printable ASCII characters (`RelaxedEnvironmentVariableValidation`).
const RELAXED: u16 = 32;

fn name(text: &str, errors: &ErrorReporter<'_, '_>) -> Result<(), String> {
    names::environment_variable(text)?;
    match names::strict_environment_variable(text) {
        Err(message) if !errors.since(RELAXED) => Err(message),
        _ => Ok(()),
    }
}
