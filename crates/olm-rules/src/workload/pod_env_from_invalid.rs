use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-env-from-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An entry of `envFrom` has neither a ConfigMap nor a Secret, both, or one with an invalid name.",
    impacts: &[Impact::DeploymentRejected],
    help: "set either configMapRef or secretRef, with a name",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateEnvFrom"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("envFrom");
        for (index, source) in container.env_from.iter().flatten().enumerate() {
            let path = list.index(index);
            let config_map = source.config_map_ref.as_ref().map(|source| ("configMapRef", &source.name));
            let secret = source.secret_ref.as_ref().map(|source| ("secretRef", &source.name));
            for (field, name) in [config_map, secret].into_iter().flatten() {
                let path = path.field(field);
                let path = path.field("name");
                if errors.required(&path, name) {
                    errors.check(&path, names::dns_subdomain(&names::prefix(name)));
                }
            }
            match (config_map, secret) {
                (None, None) => {
                    errors.add(&path, "missing source: `configMapRef` or `secretRef` must be set");
                }
                (Some(_), Some(_)) => {
                    errors.add(&path, "`configMapRef` and `secretRef` are mutually exclusive");
                }
                _ => {}
            }
        }
    });
}
