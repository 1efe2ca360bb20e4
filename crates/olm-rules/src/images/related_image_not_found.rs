use super::unavailable;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "related-image-not-found",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An image in `spec.relatedImages`, in an environment variable `RELATED_IMAGE_…`, or in an annotation of the CSV does not exist in its registry. `validate --online` asks the registries.",
    impacts: &[Impact::Specific(
        "Tools that mirror catalogs fail to copy the image, and workloads that the operator runs from it do not start.",
    )],
    help: "push the image, or correct its name, tag or digest",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "alpha/action/render.go", &["getRelatedImages"])
            .since("1.19"),
        Source::symbols(Project::Kubernetes, "pkg/kubelet/images/image_manager.go", &["EnsureImageExists"])
            .since("1.16"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    unavailable::report(context, false, reporter);
}
