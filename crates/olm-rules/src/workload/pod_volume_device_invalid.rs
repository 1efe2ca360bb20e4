use std::collections::BTreeSet;

use crate::kubernetes::paths;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-volume-device-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A block device of a container has no path, a duplicate path or name, or a volume that is not a claim.",
    impacts: &[Impact::DeploymentRejected],
    help: "use a persistentVolumeClaim or ephemeral volume once, with a unique devicePath",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateVolumeDevices"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("volumeDevices");
        let (mut named, mut taken) = (BTreeSet::new(), BTreeSet::new());
        let mounts =
            || container.volume_mounts.iter().flatten().filter(|mount| !template.is_dropped(&mount.name));
        let mounted: BTreeSet<_> = mounts().map(|mount| &mount.name).collect();
        let mount_paths: BTreeSet<_> = mounts().map(|mount| &mount.mount_path).collect();
        for (index, device) in container.volume_devices.iter().flatten().enumerate() {
            let path = list.index(index);
            let name = path.field("name");
            if !device.name.is_empty() && !named.insert(&device.name) {
                errors.add(&name, format!("duplicate device `{}`", device.name));
            } else if mounted.contains(&device.name) {
                errors.add(&name, format!("volume `{}` is also mounted as a file system", device.name));
            } else if let Some(volume) = template.volume(&device.name)
                && volume.persistent_volume_claim.is_none()
                && volume.ephemeral.is_none()
            {
                errors
                    .add(&name, format!("invalid volume `{}`: a block device must be a claim", device.name));
            }
            let place = path.field("devicePath");
            let valid = errors.required(&place, &device.device_path)
                && errors.check(&place, paths::without_backsteps(&device.device_path));
            if valid && !taken.insert(&device.device_path) {
                errors.add(&place, format!("duplicate device path `{}`", device.device_path));
            } else if valid && mount_paths.contains(&device.device_path) {
                errors.add(
                    &place,
                    format!("conflicting device path `{}`: a volume is mounted there", device.device_path),
                );
            }
        }
    });
}
