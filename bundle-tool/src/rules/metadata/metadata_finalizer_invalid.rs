use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::metadata::Metadata;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-finalizer-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A finalizer of an object has a name that is no qualified name, has no domain, or contradicts another one.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "name finalizers like example.com/cleanup",
    source: "k8s.io/apimachinery, pkg/api/validation/objectmeta.go (ValidateFinalizers), k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateKubeFinalizerName)",
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let list = path.field("finalizers");
    let finalizers = metadata.typed.finalizers.as_deref().unwrap_or_default();
    for (index, finalizer) in finalizers.iter().enumerate() {
        let path = list.index(index);
        let plain = matches!(finalizer.as_str(), "kubernetes" | "orphan" | "foregroundDeletion");
        let sound = errors.check(&path, names::qualified(finalizer));
        if sound && !finalizer.contains('/') && !plain && is_strict(metadata) {
            errors.add(&path, format!("'{finalizer}' has no domain: write it like example.com/{finalizer}"));
        }
    }
    let both = ["orphan", "foregroundDeletion"].iter().all(|name| finalizers.iter().any(|item| item == name));
    if both {
        errors.add(&list, "orphan and foregroundDeletion contradict each other");
    }
}

/// Kubernetes' own kinds want a domain, but for budgets.
fn is_strict(metadata: &Metadata<'_>) -> bool {
    let groups = ["", "rbac.authorization.k8s.io", "networking.k8s.io", "scheduling.k8s.io"];
    groups.contains(&metadata.object.group())
}
