use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-finalizer-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A finalizer is not a qualified name, has no domain, or conflicts with another finalizer.",
    impacts: &[Impact::ObjectRejected],
    help: "use finalizers like `example.com/cleanup`",
    sources: &[
        Source::symbols(Project::Apimachinery, "pkg/api/validation/objectmeta.go", &["ValidateFinalizers"])
            .since("1.16"),
        Source::symbols(
            Project::Kubernetes,
            "pkg/apis/core/validation/validation.go",
            &["validateKubeFinalizerName"],
        )
        .since("1.16"),
    ],
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let list = path.field("finalizers");
    let finalizers = metadata.typed.finalizers.as_deref().unwrap_or_default();
    for (index, finalizer) in finalizers.iter().enumerate() {
        let path = list.index(index);
        let plain = matches!(finalizer.as_str(), "kubernetes" | "orphan" | "foregroundDeletion");
        let valid = errors.check(&path, names::qualified(finalizer));
        if valid && !finalizer.contains('/') && !plain && is_strict(metadata) {
            errors.add(
                &path,
                format!(
                    "invalid finalizer `{finalizer}`: must have a domain, such as `example.com/{finalizer}`"
                ),
            );
        }
    }
    let both = ["orphan", "foregroundDeletion"].iter().all(|name| finalizers.iter().any(|item| item == name));
    if both {
        errors.add(&list, "finalizers `orphan` and `foregroundDeletion` are mutually exclusive");
    }
}

/// Returns whether a finalizer of the object must have a domain, as for built-in kinds other than budgets.
fn is_strict(metadata: &Metadata<'_>) -> bool {
    let groups = ["", "rbac.authorization.k8s.io", "networking.k8s.io", "scheduling.k8s.io"];
    groups.contains(&metadata.object.group())
}
