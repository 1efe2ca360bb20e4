use crate::inputs::MAX_ANNOTATIONS;
use crate::kubernetes::labels;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-annotation-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations of a pod template have an invalid key, or exceed 256 KiB together with those of the CSV, which OLM adds to the pods.",
    impacts: &[Impact::DeploymentRejected],
    help: "shorten or remove annotations; alm-examples is usually the largest",
    sources: &[
        Source::symbols(
            Project::Kubernetes,
            "pkg/apis/core/validation/validation.go",
            &["ValidateAnnotations"],
        )
        .since("1.16"),
        Source::symbols(
            Project::OperatorLifecycleManager,
            "pkg/controller/install/deployment.go",
            &["deploymentForSpec"],
        )
        .since("0.14"),
    ],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let path = template.path.field("metadata.annotations");
    let own = template.own_annotations();
    labels::annotation_keys(own.into_iter().flat_map(|annotations| annotations.keys()), &path, errors);
    let (own_size, added_size) = template.annotation_bytes();
    let size = own_size + added_size;
    // metadata-annotations-too-large reports annotations of the CSV that are too large alone.
    if size > MAX_ANNOTATIONS && added_size <= MAX_ANNOTATIONS {
        let message = format!(
            "annotations of the pod template and the CSV exceed the limit of {MAX_ANNOTATIONS} bytes: {size} bytes"
        );
        errors.add(&path, message);
    }
}
