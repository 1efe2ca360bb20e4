use crate::rules::kubernetes::names;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "metadata-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object has no name, or a name that is invalid for its kind.",
    impacts: &[Impact::ObjectRejected],
    help: "use lowercase letters, digits, `-` and `.`; the name of a Service starts with a letter and has no dots",
    sources: &[
        Source::symbols(
            Project::Apimachinery,
            "pkg/api/validation/objectmeta.go",
            &["ValidateObjectMetaAccessor"],
        )
        .since("1.16"),
        Source::symbols(
            Project::Kubernetes,
            "pkg/apis/core/validation/validation.go",
            &["ValidatePodName", "ValidateServiceName", "ValidateConfigMapName"],
        )
        .since("1.16"),
    ],
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let validator = name_of(metadata);
    let name = metadata.typed.name.as_deref().unwrap_or_default();
    let prefix = metadata.typed.generate_name.as_deref().unwrap_or_default();
    // crd-name-mismatch validates the name of a CRD.
    if metadata.object.kind() == "CustomResourceDefinition" {
        return;
    }
    if !prefix.is_empty() {
        errors.check(&path.field("generateName"), validator(&names::prefix(prefix)));
    }
    // csv-name-invalid validates the name of a CSV.
    if metadata.object.kind() == "ClusterServiceVersion" {
        return;
    }
    let path = path.field("name");
    if !name.is_empty() {
        errors.check(&path, validator(name));
    } else if prefix.is_empty() {
        errors.add(&path, "missing required field `metadata.name`");
    }
}

fn name_of(metadata: &Metadata<'_>) -> fn(&str) -> Result<(), String> {
    match (metadata.object.group(), metadata.object.kind()) {
        ("", "Service") => names::dns_1035_label,
        ("rbac.authorization.k8s.io", _) | ("policy", "PodDisruptionBudget") => names::path_segment,
        _ => names::dns_subdomain,
    }
}
