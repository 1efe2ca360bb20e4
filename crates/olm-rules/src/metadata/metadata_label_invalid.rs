use crate::kubernetes::labels;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-label-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A label of an object has an invalid key or value.",
    impacts: &[Impact::ObjectRejected],
    help: "correct the key or value, or move the value to an annotation",
    sources: &[Source::symbols(
        Project::Apimachinery,
        "pkg/apis/meta/v1/validation/validation.go",
        &["ValidateLabels"],
    )
    .since("1.16")],
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    labels::validate(metadata.typed.labels.as_ref(), &path.field("labels"), errors);
}
