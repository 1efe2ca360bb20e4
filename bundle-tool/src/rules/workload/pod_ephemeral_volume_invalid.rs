use super::claims;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-ephemeral-volume-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The claim template of an ephemeral volume has no size, no access mode or metadata that a template cannot have.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "give volumeClaimTemplate a spec with accessModes and resources.requests.storage; its metadata holds labels and annotations only",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaimTemplate)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_volume(|volume, path| {
        let Some(ephemeral) = &volume.ephemeral else { return };
        let path = path.field("ephemeral");
        let path = path.field("volumeClaimTemplate");
        match &ephemeral.volume_claim_template {
            None => errors.add(&path, "volumeClaimTemplate is missing"),
            Some(template) => {
                if let Some(metadata) = &template.metadata {
                    claims::metadata(metadata, &path.field("metadata"), errors);
                }
                claims::spec(&template.spec, &path.field("spec"), errors);
            }
        }
    });
}
