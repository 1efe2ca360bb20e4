use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::metadata::Metadata;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-label-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of an object has a key or value that Kubernetes does not take.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "mend the key or value; longer texts belong into annotations",
    source: "k8s.io/apimachinery, pkg/apis/meta/v1/validation/validation.go (ValidateLabels)",
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    labels::validate(metadata.typed.labels.as_ref(), &path.field("labels"), errors);
}
