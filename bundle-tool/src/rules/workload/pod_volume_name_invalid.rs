use std::collections::BTreeSet;

use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-volume-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A volume has no name, one that is no DNS label, or the name of another volume.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give each volume a name of its own of lower case letters, digits and `-`",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateVolumes)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let mut seen = BTreeSet::new();
    template.each_volume(|volume, path| {
        let path = path.field("name");
        if errors.required(&path, &volume.name)
            && errors.check(&path, names::dns_label(&volume.name))
            && !seen.insert(&volume.name)
        {
            errors.add(&path, format!("another volume is named '{}'", volume.name));
        }
    });
}
