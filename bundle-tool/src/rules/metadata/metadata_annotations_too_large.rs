use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::metadata::Metadata;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-annotations-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations of an object are larger than 256 KiB together.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "shorten them; a CSV's alm-examples is the usual large one",
    source: "k8s.io/apimachinery, pkg/api/validation/objectmeta.go (ValidateAnnotationsSize)",
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let size = metadata.typed.annotations.as_ref().map_or(0, labels::size);
    if size > labels::MAX_ANNOTATIONS {
        let message = format!("the annotations have {size} bytes; {} are the most", labels::MAX_ANNOTATIONS);
        errors.add(&path.field("annotations"), message);
    }
}
