use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::metadata::Metadata;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object has no name, or one that objects of its kind cannot have.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "use lower case letters, digits, `-` and `.`; a Service's name begins with a letter and has no dots",
    source: "k8s.io/apimachinery, pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessor), and the name functions in k8s.io/kubernetes, pkg/apis/*/validation",
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let validator = name_of(metadata);
    let name = metadata.typed.name.as_deref().unwrap_or_default();
    let prefix = metadata.typed.generate_name.as_deref().unwrap_or_default();
    // A CRD's names are made of its plural and group, and are judged there.
    if metadata.object.kind() == "CustomResourceDefinition" {
        return;
    }
    if !prefix.is_empty() {
        errors.check(&path.field("generateName"), validator(&names::prefix(prefix)));
    }
    // A CSV's name becomes a label, too: csv-name-invalid speaks of it.
    if metadata.object.kind() == "ClusterServiceVersion" {
        return;
    }
    let path = path.field("name");
    if !name.is_empty() {
        errors.check(&path, validator(name));
    } else if prefix.is_empty() {
        errors.add(&path, "the object has no name");
    }
}

fn name_of(metadata: &Metadata<'_>) -> fn(&str) -> Result<(), String> {
    match (metadata.object.group(), metadata.object.kind()) {
        ("", "Service") => names::dns_1035_label,
        ("rbac.authorization.k8s.io", _) | ("policy", "PodDisruptionBudget") => names::path_segment,
        _ => names::dns_subdomain,
    }
}
