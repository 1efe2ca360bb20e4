use crate::prelude::*;
use kube_yaml::First;
use olm_model::Content;
use olm_model::bundle::ANNOTATIONS_FILE;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-unread",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file in `metadata/` other than annotations.yaml is not valid YAML, or contains only comments.",
    impacts: &[Impact::Specific(
        "operator-sdk and opm ignore the file without an error, including any dependencies and properties in it.",
    )],
    help: "correct the syntax at this position",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/parse.go", &["addMetadata"]).since("1.18")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.files.iter().filter(|file| file.is_metadata() && file.path != ANNOTATIONS_FILE)
    {
        match &file.content {
            Content::Documents { error: Some(error), first: First::Unreadable, .. } => {
                reporter.place(file, error.position, format!("invalid YAML: {}", error.message));
            }
            Content::Documents { first: First::Empty, .. } if file.size > 0 => {
                reporter.path(&file.path, "the file contains only comments");
            }
            Content::Unreadable(reason) => {
                reporter.path(&file.path, format!("failed to read the file: {reason}"));
            }
            Content::Documents { .. } | Content::Other => {}
        }
    }
}
