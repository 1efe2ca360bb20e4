use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-owner-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An owner reference has no API version, kind, name or uid, or two owners are the controller.",
    impacts: &[Impact::ObjectRejected],
    help: "remove metadata.ownerReferences: OLM sets them",
    sources: &[Source::symbols(
        Project::Apimachinery,
        "pkg/api/validation/objectmeta.go",
        &["ValidateOwnerReferences"],
    )
    .since("1.16")],
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let list = path.field("ownerReferences");
    let owners = metadata.typed.owner_references.as_deref().unwrap_or_default();
    for (index, owner) in owners.iter().enumerate() {
        let path = list.index(index);
        let version = owner.api_version.rsplit('/').next().unwrap_or_default();
        if version.is_empty() || owner.api_version.matches('/').count() > 1 {
            errors
                .add(&path.field("apiVersion"), "invalid apiVersion: expected `group/version` or `version`");
        }
        errors.required(&path.field("kind"), &owner.kind);
        errors.required(&path.field("name"), &owner.name);
        errors.required(&path.field("uid"), &owner.uid);
        if owner.api_version == "v1" && owner.kind == "Event" {
            errors.add(&path.field("kind"), "an owner must not be an `Event`");
        }
    }
    // Duplicates are dropped.
    let mut controllers = owners.iter().filter(|owner| owner.controller == Some(true));
    let first = controllers.next();
    if controllers.any(|other| Some(other) != first) {
        errors.add(&list, "several owner references set `controller: true`");
    }
}
