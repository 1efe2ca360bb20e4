use super::{sources, volumes};
use crate::kubernetes::numbers;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-volume-file-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file of a volume has no key, no path, a path that leaves the volume, or a mode above 0777.",
    impacts: &[Impact::DeploymentRejected],
    help: "set key, a relative path without `..`, and a mode from 0 to 0777",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateKeyToPath", "validateDownwardAPIVolumeFile"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_volume(|volume, path| {
        let mut mode = |field: &str, mode| {
            errors.check(&path.field(field).field("defaultMode"), numbers::file_mode(mode));
        };
        mode("secret", volume.secret.as_ref().and_then(|source| source.default_mode));
        mode("configMap", volume.config_map.as_ref().and_then(|source| source.default_mode));
        mode("downwardAPI", volume.downward_api.as_ref().and_then(|source| source.default_mode));
        mode("projected", volume.projected.as_ref().and_then(|source| source.default_mode));
        if let Some(secret) = &volume.secret {
            sources::files(secret.items.as_ref(), &path.field("secret"), errors);
        }
        if let Some(config_map) = &volume.config_map {
            sources::files(config_map.items.as_ref(), &path.field("configMap"), errors);
        }
        if let Some(downward) = &volume.downward_api {
            volumes::downward_files(downward.items.as_ref(), &path.field("downwardAPI"), errors);
        }
        let path = path.field("projected");
        let list = path.field("sources");
        let projected = volume.projected.iter().flat_map(|source| source.sources.iter().flatten());
        for (index, source) in projected.enumerate() {
            let path = list.index(index);
            if let Some(secret) = &source.secret {
                sources::files(secret.items.as_ref(), &path.field("secret"), errors);
            }
            if let Some(config_map) = &source.config_map {
                sources::files(config_map.items.as_ref(), &path.field("configMap"), errors);
            }
            if let Some(downward) = &source.downward_api {
                volumes::downward_files(downward.items.as_ref(), &path.field("downwardAPI"), errors);
            }
        }
    });
}
