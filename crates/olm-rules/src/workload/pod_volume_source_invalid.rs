use super::volumes;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-volume-source-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A volume does not set a field that its type requires, or sets an invalid value.",
    impacts: &[Impact::DeploymentRejected],
    help: "set the field named in the message, such as `secretRef` for `scaleIO`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateVolumeSource"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_volume(|volume, path| volumes::validate(volume, path, errors));
}
