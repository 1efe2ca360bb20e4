use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
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

fn check(metadata: &Metadata<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let name = metadata.typed.name.as_deref().unwrap_or_default();
    let prefix = metadata.typed.generate_name.as_deref().unwrap_or_default();
    // crd-name-mismatch validates the name of a CRD.
    if metadata.object.kind() == "CustomResourceDefinition" {
        return;
    }
    if !prefix.is_empty() {
        let verdict = validate(metadata, &names::prefix(prefix), errors);
        errors.check(&path.field("generateName"), verdict);
    }
    // unsupported-kind reports a list, which has no name; csv-name-invalid validates the name of a CSV.
    if matches!(metadata.object.kind(), "List" | "ClusterServiceVersion") {
        return;
    }
    let path = path.field("name");
    if !name.is_empty() {
        let verdict = validate(metadata, name, errors);
        errors.check(&path, verdict);
    } else if prefix.is_empty() {
        errors.add(&path, "missing required field `metadata.name`");
    }
}

/// The first version of Kubernetes in which the name of a Service can begin with a digit (`RelaxedServiceNameValidation`).
const SERVICE_DIGITS: u16 = 36;

fn validate(metadata: &Metadata<'_>, name: &str, errors: &ErrorReporter<'_, '_>) -> Result<(), String> {
    match (metadata.object.group(), metadata.object.kind()) {
        ("", "Service") => {
            let is_relaxed = names::dns_1035_label(name).is_err()
                && names::dns_label(name).is_ok()
                && errors.since(SERVICE_DIGITS);
            if is_relaxed { Ok(()) } else { names::dns_1035_label(name) }
        }
        ("rbac.authorization.k8s.io", _) | ("policy", "PodDisruptionBudget") => names::path_segment(name),
        _ => names::dns_subdomain(name),
    }
}
