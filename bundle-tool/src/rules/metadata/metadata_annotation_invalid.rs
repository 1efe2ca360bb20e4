use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::metadata::Metadata;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-annotation-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An annotation of an object has a key that is no qualified name.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "name annotations like example.com/name",
    source: "k8s.io/apimachinery, pkg/api/validation/objectmeta.go (ValidateAnnotations)",
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let annotations = metadata.typed.annotations.iter().flat_map(|annotations| annotations.keys());
    labels::annotation_keys(annotations, &path.field("annotations"), errors);
}
