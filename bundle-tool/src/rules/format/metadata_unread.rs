use crate::model::bundle::ANNOTATIONS_FILE;
use crate::model::{Content, First};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-unread",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file in `metadata/` beside annotations.yaml is no YAML, or has comments alone.",
    why: "operator-sdk and opm pass over it without a word: the dependencies or properties in it do not count.",
    help: "mend the syntax at this place; a YAML-aware editor shows it",
    source: "operator-registry, pkg/registry/parse.go (addMetadata)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.files.iter().filter(|file| file.is_metadata() && file.path != ANNOTATIONS_FILE)
    {
        match &file.content {
            Content::Documents { error: Some(error), first: First::Unreadable, .. } => {
                reporter.place(file, error.position, format!("not YAML: {}", error.message));
            }
            Content::Documents { first: First::Empty, .. } if file.size > 0 => {
                reporter
                    .path(&file.path, "the file holds nothing but comments, at which operator-sdk crashes");
            }
            Content::Unreadable(reason) => reporter.path(&file.path, format!("cannot be read: {reason}")),
            Content::Documents { .. } | Content::Other => {}
        }
    }
}
