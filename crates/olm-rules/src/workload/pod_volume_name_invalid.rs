use std::collections::BTreeSet;

use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-volume-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A volume has a missing, invalid or duplicate name.",
    impacts: &[Impact::DeploymentRejected],
    help: "use a unique name of lowercase letters, digits and `-`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateVolumes"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let mut seen = BTreeSet::new();
    template.each_volume(|volume, path| {
        let path = path.field("name");
        if errors.required(&path, &volume.name)
            && errors.check(&path, names::dns_label(&volume.name))
            && !seen.insert(&volume.name)
        {
            errors.add(&path, format!("duplicate volume name `{}`", volume.name));
        }
    });
}
