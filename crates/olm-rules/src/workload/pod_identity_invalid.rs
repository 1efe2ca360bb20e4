use crate::kubernetes::numbers;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-identity-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A user or group ID is not between 0 and 2147483647.",
    impacts: &[Impact::DeploymentRejected],
    help: "use an ID from 0 to 2147483647, or remove the field",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validatePodSpecSecurityContext", "ValidateSecurityContext"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if let Some(security) = template.security() {
        let path = template.spec_path.field("securityContext");
        for (field, value) in [
            ("runAsUser", security.run_as_user),
            ("runAsGroup", security.run_as_group),
            ("fsGroup", security.fs_group),
        ] {
            if let Some(value) = value {
                errors.check(&path.field(field), numbers::identity(value));
            }
        }
        let list = path.field("supplementalGroups");
        for (index, group) in security.supplemental_groups.iter().flatten().enumerate() {
            errors.check(&list.index(index), numbers::identity(*group));
        }
    }
    template.each_container(|container, path, _| {
        let Some(security) = &container.security_context else { return };
        let path = path.field("securityContext");
        for (field, value) in [("runAsUser", security.run_as_user), ("runAsGroup", security.run_as_group)] {
            if let Some(value) = value {
                errors.check(&path.field(field), numbers::identity(value));
            }
        }
    });
}
