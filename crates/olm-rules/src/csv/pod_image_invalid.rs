use crate::prelude::*;
use oci_images::reference::Reference;

pub(crate) static RULE: Rule = Rule {
    id: "pod-image-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The image of a container is not an image reference, or is kubebuilder's placeholder `controller:latest`.",
    impacts: &[Impact::Specific(
        "The pod never starts: its container waits with the reason InvalidImageName or ImagePullBackOff.",
    )],
    help: "set image to the reference of the operator's image, such as `registry.example.com/gizmo:v1.0.0`",
    sources: &[Source::symbols(Project::Kubernetes, "pkg/util/parsers/parsers.go", &["ParseImageName"])
        .since("1.16")],
    check: Check::Csv(check),
};

/// What kubebuilder's projects contain until `make deploy` or `make bundle` sets the image.
const PLACEHOLDER: &str = "controller:latest";

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    csv.each_pod_template(|pod| {
        pod.each_container(|container, path, _| {
            let Some(image) = container.image.as_deref().filter(|image| !image.is_empty()) else { return };
            let message = if image == PLACEHOLDER {
                format!("placeholder image `{PLACEHOLDER}`")
            } else if image.contains("{{") || image.contains("${") || image.contains("$(") {
                format!("unrendered image reference `{image}`")
            } else if let Err(error) = image.parse::<Reference>() {
                format!("invalid image reference `{image}`: {error}")
            } else {
                return;
            };
            reporter.field(&csv.object, &path.field("image"), message);
        });
    });
}
