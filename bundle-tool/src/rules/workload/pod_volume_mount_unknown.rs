use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-volume-mount-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A container mounts a volume, or uses one as a device, that the pod does not have.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "add the volume to volumes, or take the mount out",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateVolumeMounts, ValidateVolumeDevices)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_container(|container, path, _| {
        let list = path.field("volumeMounts");
        for (index, mount) in container.volume_mounts.iter().flatten().enumerate() {
            if template.volume(&mount.name).is_none() && !template.is_dropped(&mount.name) {
                errors.add(&list.index(index).field("name"), format!("there is no volume '{}'", mount.name));
            }
        }
        let list = path.field("volumeDevices");
        for (index, device) in container.volume_devices.iter().flatten().enumerate() {
            if template.volume(&device.name).is_none() {
                errors.add(&list.index(index).field("name"), format!("there is no volume '{}'", device.name));
            }
        }
    });
}
