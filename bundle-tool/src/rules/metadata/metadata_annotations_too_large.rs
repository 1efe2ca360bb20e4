use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::kubernetes::{Errors, labels};
use crate::rules::metadata::Metadata;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-annotations-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations of an object exceed 256 KiB in total.",
    impacts: &[Impact::ObjectRejected],
    help: "shorten the annotations; in a CSV, alm-examples is usually the largest",
    sources: &[Source::symbols(
        Project::Apimachinery,
        "pkg/api/validation/objectmeta.go",
        &["ValidateAnnotationsSize"],
    )],
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut Errors<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let size = metadata.typed.annotations.as_ref().map_or(0, labels::size);
    if size > labels::MAX_ANNOTATIONS {
        let message =
            format!("annotations of {size} bytes exceed the limit of {} bytes", labels::MAX_ANNOTATIONS);
        errors.add(&path.field("annotations"), message);
    }
}
