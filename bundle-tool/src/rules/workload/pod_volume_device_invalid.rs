use std::collections::BTreeSet;

use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, paths};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-volume-device-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A block device of a container has no path, the path or name of another, or a volume that is no claim.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "use a persistentVolumeClaim or ephemeral volume, once, at a path of its own",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateVolumeDevices)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("volumeDevices");
        let (mut named, mut taken) = (BTreeSet::new(), BTreeSet::new());
        for (index, device) in container.volume_devices.iter().flatten().enumerate() {
            let path = list.index(index);
            let name = path.field("name");
            let mut mounts =
                container.volume_mounts.iter().flatten().filter(|mount| !template.is_dropped(&mount.name));
            if !device.name.is_empty() && !named.insert(&device.name) {
                errors.add(&name, format!("'{}' is a device already", device.name));
            } else if mounts.clone().any(|mount| mount.name == device.name) {
                errors.add(&name, format!("'{}' is mounted as a file system, too", device.name));
            } else if let Some(volume) = template.volume(&device.name)
                && volume.persistent_volume_claim.is_none()
                && volume.ephemeral.is_none()
            {
                errors.add(
                    &name,
                    format!("the volume '{}' is no claim: it cannot be a block device", device.name),
                );
            }
            let place = path.field("devicePath");
            let sound = errors.required(&place, &device.device_path)
                && errors.check(&place, paths::without_backsteps(&device.device_path));
            if sound && !taken.insert(&device.device_path) {
                errors.add(&place, format!("another device is at '{}'", device.device_path));
            } else if sound && mounts.any(|mount| mount.mount_path == device.device_path) {
                errors.add(&place, format!("a volume is mounted at '{}'", device.device_path));
            }
        }
    });
}
