use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-os-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`os.name` is neither `linux` nor `windows`.",
    impacts: &[Impact::DeploymentRejected],
    help: "set os.name to `linux` or `windows`, or remove os",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateOS"],
    )],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    if let Some(name) = template.os() {
        errors.one_of(&template.spec_path.field("os.name"), name, &["linux", "windows"]);
    }
}
