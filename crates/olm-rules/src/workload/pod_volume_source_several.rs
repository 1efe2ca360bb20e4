use super::volumes;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-volume-source-several",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A volume has several types.",
    impacts: &[Impact::DeploymentRejected],
    help: "keep one type, and declare a volume for each of the others",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateVolumeSource"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_volume(|volume, path| {
        let set = volumes::sources(volume);
        if set.len() > 1 {
            errors.add(
                &path.field(set[1]),
                format!(
                    "conflicting volume types `{}` and `{}`: exactly one is required",
                    set[0],
                    set[1..].join("`, `")
                ),
            );
        }
    });
}
