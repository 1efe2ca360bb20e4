use crate::kubernetes::labels;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-annotation-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The key of an annotation is not a qualified name.",
    impacts: &[Impact::ObjectRejected],
    help: "use annotation keys like `example.com/name`",
    sources: &[Source::symbols(
        Project::Apimachinery,
        "pkg/api/validation/objectmeta.go",
        &["ValidateAnnotations"],
    )
    .since("1.16")],
    check: Check::Metadata(check),
};

fn check(metadata: &Metadata<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let root = Path::ROOT;
    let path = root.field("metadata");
    let annotations = metadata.typed.annotations.iter().flat_map(|annotations| annotations.keys());
    labels::annotation_keys(annotations, &path.field("annotations"), errors);
}
