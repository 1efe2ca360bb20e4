use crate::prelude::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-system-field-set",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object has a field that only the API server sets: a resourceVersion, a negative generation, or invalid managedFields.",
    impacts: &[Impact::ObjectRejected, Impact::SdkRejects],
    help: "remove the field, which is set in exports from a cluster",
    sources: &[
        Source::symbols(Project::Apiserver, "pkg/storage/etcd3/store.go", &["Create"]).since("1.16"),
        Source::symbols(
            Project::Apimachinery,
            "pkg/api/validation/objectmeta.go",
            &["ValidateObjectMetaAccessor"],
        )
        .since("1.16"),
        Source::symbols(
            Project::Apimachinery,
            "pkg/apis/meta/v1/validation/validation.go",
            &["ValidateManagedFields"],
        )
        .since("1.16"),
    ],
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let version = metadata.typed.resource_version.as_deref().unwrap_or_default();
    if !matches!(version, "" | "0") {
        errors
            .fix(Fix::new(Safety::Safe, &path.field("resourceVersion"), Change::Remove))
            .add(&path.field("resourceVersion"), "unexpected `resourceVersion`: must not be set on creation");
    }
    // For these and custom resources, the API server resets the generation to 1.
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
    // The API server replaces managedFields, and operator-sdk does not validate those of the CSV.
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
        return Some("unsupported `operation`: must be `Apply` or `Update`");
    }
    if !matches!(text(&entry.fields_type).as_str(), "" | "FieldsV1") {
        return Some("unsupported `fieldsType`: must be `FieldsV1`");
    }
    let manager = text(&entry.manager);
    if manager.len() > MAX_MANAGER || manager.chars().any(char::is_control) {
        return Some("invalid `manager`: must be at most 128 printable bytes");
    }
    (text(&entry.subresource).len() > MAX_SUBRESOURCE)
        .then_some("invalid `subresource`: must be at most 256 bytes")
}
