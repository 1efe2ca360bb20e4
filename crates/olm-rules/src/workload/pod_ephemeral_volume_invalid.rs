use super::claims;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-ephemeral-volume-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The claim template of an ephemeral volume has no size, no access modes, or unsupported metadata.",
    impacts: &[Impact::DeploymentRejected],
    help: "set accessModes and resources.requests.storage in the spec of volumeClaimTemplate, and only labels and annotations in its metadata",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidatePersistentVolumeClaimTemplate"],
    )
    .since("1.21")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_volume(|volume, path| {
        let Some(ephemeral) = &volume.ephemeral else { return };
        let path = path.field("ephemeral");
        let path = path.field("volumeClaimTemplate");
        match &ephemeral.volume_claim_template {
            None => errors.add(&path, "missing required field `volumeClaimTemplate`"),
            Some(template) => {
                if let Some(metadata) = &template.metadata {
                    claims::metadata(metadata, &path.field("metadata"), errors);
                }
                claims::spec(&template.spec, &path.field("spec"), errors);
            }
        }
    });
}
