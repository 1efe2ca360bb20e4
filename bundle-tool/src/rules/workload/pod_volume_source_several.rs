use super::volumes;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-volume-source-several",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A volume is of several types at once.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "leave one type; make a volume of its own for each other one",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateVolumeSource)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_volume(|volume, path| {
        let set = volumes::sources(volume);
        if set.len() > 1 {
            errors.add(
                &path.field(set[1]),
                format!("the volume is {} and {} at once", set[0], set[1..].join(" and ")),
            );
        }
    });
}
