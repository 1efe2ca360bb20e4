use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::metadata::Metadata;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-system-field-set",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object carries a field that only the API server sets: a resourceVersion, or a negative generation.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "take the field out: it comes from an export of a running cluster",
    source: "k8s.io/apiserver, pkg/storage/etcd3/store.go (Create), k8s.io/apimachinery, pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessor)",
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let version = metadata.typed.resource_version.as_deref().unwrap_or_default();
    if !matches!(version, "" | "0") {
        errors.add(&path.field("resourceVersion"), "an object that is created has no resourceVersion");
    }
    // Of these, and of custom resources, the API server begins to count at 1 itself.
    let counted = matches!(
        metadata.object.kind(),
        "ClusterServiceVersion"
            | "CustomResourceDefinition"
            | "NetworkPolicy"
            | "PodDisruptionBudget"
            | "PriorityClass"
    );
    if !counted {
        errors.not_negative(&path.field("generation"), metadata.typed.generation.unwrap_or_default());
    }
}
