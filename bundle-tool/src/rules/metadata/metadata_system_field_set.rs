use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::metadata::Metadata;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-system-field-set",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object carries a field that only the API server sets: a resourceVersion, a negative generation, or managedFields that cannot be.",
    why: "The API server refuses the object, and the InstallPlan fails; for managedFields, operator-sdk refuses the bundle.",
    help: "take the field out: it comes from an export of a running cluster",
    source: "k8s.io/apiserver, pkg/storage/etcd3/store.go (Create), k8s.io/apimachinery, pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessor), pkg/apis/meta/v1/validation/validation.go (ValidateManagedFields)",
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
    // The API server sets them anew whatever they are, and operator-sdk does not look at the CSV's.
    if metadata.object.kind() != "ClusterServiceVersion" {
        let list = path.field("managedFields");
        for (index, entry) in metadata.typed.managed_fields.iter().flatten().enumerate() {
            if let Some(problem) = managed_fields_problem(entry) {
                errors.add(&list.index(index), problem);
            }
        }
    }
}

fn managed_fields_problem(entry: &ManagedFieldsEntry) -> Option<&'static str> {
    const MAX_MANAGER: usize = 128;
    const MAX_SUBRESOURCE: usize = 256;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    if !matches!(text(&entry.operation).as_str(), "Apply" | "Update") {
        return Some("operation is neither Apply nor Update");
    }
    if !matches!(text(&entry.fields_type).as_str(), "" | "FieldsV1") {
        return Some("fieldsType is not FieldsV1");
    }
    let manager = text(&entry.manager);
    if manager.len() > MAX_MANAGER || manager.chars().any(char::is_control) {
        return Some("manager is longer than 128 bytes or holds what cannot be printed");
    }
    (text(&entry.subresource).len() > MAX_SUBRESOURCE).then_some("subresource is longer than 256 bytes")
}
