use super::unavailable;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "image-not-found",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The image of a container does not exist in its registry. `validate --online` asks the registries.",
    impacts: &[
        Impact::Specific("The kubelet cannot pull the image, and the Deployment never becomes available."),
        Impact::CsvFails("InstallCheckFailed"),
    ],
    help: "push the image, or correct its name, tag or digest",
    sources: &[
        Source::symbols(Project::Kubernetes, "pkg/kubelet/images/image_manager.go", &["EnsureImageExists"])
            .since("1.16"),
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/install/status_viewer.go",
            &["DeploymentStatus"],
        )
        .since("0.14"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    unavailable::report(context, true, reporter);
}
