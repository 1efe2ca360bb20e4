use std::collections::BTreeSet;

use crate::kubernetes::paths;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-volume-mount-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A mount has no path, a duplicate path, a subpath that leaves the volume, or contradictory options.",
    impacts: &[Impact::DeploymentRejected],
    help: "use a unique mountPath, and a relative subPath without `..`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateVolumeMounts"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, _| {
        let privileged =
            container.security_context.as_ref().is_some_and(|security| security.privileged == Some(true));
        let list = path.field("volumeMounts");
        let mut taken = BTreeSet::new();
        let devices = container.volume_devices.iter().flatten();
        let devices: BTreeSet<_> = devices.map(|device| &device.device_path).collect();
        for (index, mount) in container.volume_mounts.iter().flatten().enumerate() {
            if template.is_dropped(&mount.name) {
                continue;
            }
            let path = list.index(index);
            let place = path.field("mountPath");
            let placed = errors.required(&place, &mount.mount_path);
            if placed && !taken.insert(&mount.mount_path) {
                errors.add(&place, format!("duplicate mount path `{}`", mount.mount_path));
            } else if placed && devices.contains(&mount.mount_path) {
                errors.add(
                    &place,
                    format!("conflicting mount path `{}`: it is the path of a device", mount.mount_path),
                );
            }
            let sub_path = mount.sub_path.as_deref().unwrap_or_default();
            errors.check(&path.field("subPath"), paths::descending(sub_path));
            let expression = mount.sub_path_expr.as_deref().unwrap_or_default();
            if !sub_path.is_empty() && !expression.is_empty() {
                errors.add(&path.field("subPathExpr"), "`subPath` and `subPathExpr` are mutually exclusive");
            }
            errors.check(&path.field("subPathExpr"), paths::descending(expression));
            if let Some(propagation) = &mount.mount_propagation {
                let path = path.field("mountPropagation");
                errors.one_of(&path, propagation, &["None", "HostToContainer", "Bidirectional"]);
                if propagation == "Bidirectional" && !privileged {
                    errors.add(&path, "`Bidirectional` requires a privileged container");
                }
            }
            if let Some(recursive) = &mount.recursive_read_only {
                let path = path.field("recursiveReadOnly");
                errors.one_of(&path, recursive, &["Disabled", "IfPossible", "Enabled"]);
                if matches!(recursive.as_str(), "IfPossible" | "Enabled") {
                    if mount.read_only != Some(true) {
                        errors.add(&path, "`recursiveReadOnly` requires `readOnly: true`");
                    } else if mount.mount_propagation.as_ref().is_some_and(|value| value != "None") {
                        errors.add(&path, "`recursiveReadOnly` requires `mountPropagation: None`");
                    }
                }
            }
        }
    });
}
