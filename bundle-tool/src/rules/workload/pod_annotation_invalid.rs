use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-annotation-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations of a pod template have a key that is no qualified name, or are larger than 256 KiB together with those of the CSV, which OLM adds to the pods.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "shorten or move annotations; alm-examples is the usual large one",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateAnnotations); operator-lifecycle-manager, pkg/controller/install/deployment.go (deploymentForSpec)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let path = template.path.field("metadata.annotations");
    let own = template.template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    labels::annotation_keys(own.into_iter().flat_map(|annotations| annotations.keys()), &path, errors);
    let size: usize = template.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    let own_size = own.map_or(0, labels::size);
    // Where the CSV's annotations alone are too large, that is said there.
    if size > labels::MAX_ANNOTATIONS && own_size > 0 && size - own_size <= labels::MAX_ANNOTATIONS {
        let message = format!(
            "the annotations of the template and of the CSV have {size} bytes together; {} are the most",
            labels::MAX_ANNOTATIONS
        );
        errors.add(&path, message);
    }
}
