use crate::prelude::*;
use olm_model::report::suggest::did_you_mean;

pub(crate) static RULE: Rule = Rule {
    id: "pod-volume-mount-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container uses a volume that the pod does not declare.",
    impacts: &[Impact::DeploymentRejected],
    help: "add the volume to volumes, or remove the mount",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateVolumeMounts", "ValidateVolumeDevices"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn unknown(template: &PodTemplate<'_>, name: &str) -> String {
    if name.is_empty() {
        return "missing required field `name`".to_owned();
    }
    let volumes = template.spec.volumes.iter().flatten().map(|volume| volume.name.as_str());
    format!("unknown volume `{name}`{}", did_you_mean(name, volumes.take(MAX_CANDIDATES)))
}

/// Maximum number of volumes that a misspelled name is compared with.
const MAX_CANDIDATES: usize = 100;

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("volumeMounts");
        for (index, mount) in container.volume_mounts.iter().flatten().enumerate() {
            if template.volume(&mount.name).is_none() && !template.is_dropped(&mount.name) {
                errors.add(&list.index(index).field("name"), unknown(template, &mount.name));
            }
        }
        let list = path.field("volumeDevices");
        for (index, device) in container.volume_devices.iter().flatten().enumerate() {
            if template.volume(&device.name).is_none() {
                errors.add(&list.index(index).field("name"), unknown(template, &device.name));
            }
        }
    });
}
