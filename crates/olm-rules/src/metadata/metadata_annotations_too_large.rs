use crate::inputs::MAX_ANNOTATIONS;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
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
    )
    .since("1.16")],
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let size = metadata.annotation_bytes();
    if size > MAX_ANNOTATIONS {
        let message = format!("annotations of {size} bytes exceed the limit of {MAX_ANNOTATIONS} bytes");
        errors.add(&path.field("annotations"), message);
    }
}
