use super::sources;
use crate::kubernetes::{names, paths};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-env-source-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An environment variable has no source, several sources, or an invalid one.",
    impacts: &[Impact::DeploymentRejected],
    help: "set exactly one of fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef, and no value",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateEnvVarValueFrom"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("env");
        for (index, variable) in container.env.iter().flatten().enumerate() {
            let Some(source) = &variable.value_from else { continue };
            let path = list.index(index);
            let path = path.field("valueFrom");
            if let Some(field) = &source.field_ref {
                sources::field(field, sources::VARIABLES, &path.field("fieldRef"), errors);
            }
            if let Some(resource) = &source.resource_field_ref {
                sources::resource(resource, false, &path.field("resourceFieldRef"), errors);
            }
            if let Some(key) = &source.config_map_key_ref {
                sources::key(&key.name, &key.key, &path.field("configMapKeyRef"), errors);
            }
            if let Some(key) = &source.secret_key_ref {
                sources::key(&key.name, &key.key, &path.field("secretKeyRef"), errors);
            }
            if let Some(key) = &source.file_key_ref {
                let path = path.field("fileKeyRef");
                if errors.required(&path.field("key"), &key.key) {
                    errors.check(&path.field("key"), names::environment_variable(&key.key));
                }
                if errors.required(&path.field("path"), &key.path) {
                    errors.check(&path.field("path"), paths::without_backsteps(&key.path));
                }
                let volume = path.field("volumeName");
                if errors.required(&volume, &key.volume_name)
                    && errors.check(&volume, names::dns_label(&key.volume_name))
                    && template.volume(&key.volume_name).is_none_or(|volume| volume.empty_dir.is_none())
                {
                    let message =
                        format!("unknown volume `{}`: must be a volume of type `emptyDir`", key.volume_name);
                    errors.add(&volume, message);
                }
            }
            let count = [
                source.file_key_ref.is_some(),
                source.field_ref.is_some(),
                source.resource_field_ref.is_some(),
                source.config_map_key_ref.is_some(),
                source.secret_key_ref.is_some(),
            ]
            .into_iter()
            .filter(|set| *set)
            .count();
            if count == 0 {
                errors.add(&path, "missing source: exactly one is required");
            } else if variable.value.as_ref().is_some_and(|value| !value.is_empty()) {
                errors.add(&path, "`value` and `valueFrom` are mutually exclusive");
            } else if count > 1 {
                errors.add(&path, "several sources: exactly one is required");
            }
        }
    });
}
