use super::document_empty::report_unread;
use super::yaml_syntax::report;
use crate::prelude::*;
use kube_yaml::First;
use olm_model::Content;
use olm_model::bundle::ANNOTATIONS_FILE;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-unread",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file in `metadata/` other than annotations.yaml is invalid YAML, contains only comments, or begins with an empty document; or `dependencies.yaml` or `properties.yaml` is not in `metadata/` but in its parent directory.",
    impacts: &[Impact::Specific(
        "operator-sdk and opm ignore the file without an error, including any dependencies and properties in it.",
    )],
    help: "correct the syntax at this position",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/parse.go", &["addMetadata"]).since("1.18")
    ],
    check: Check::Bundle(check),
};

/// The names of files that are read in `metadata/` alone.
const NAMES: [&str; 4] = ["dependencies.yaml", "dependencies.yml", "properties.yaml", "properties.yml"];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.files.iter().filter(|file| file.is_metadata() && file.path != ANNOTATIONS_FILE)
    {
        match &file.content {
            Content::Documents { error: Some(error), first: First::Unreadable, .. } => {
                report(file, error, "invalid YAML", reporter);
            }
            Content::Documents { first: First::Empty, documents, .. } if file.size > 0 => {
                match documents.first() {
                    Some(first) => report_unread(file, first, "document", reporter),
                    None => reporter.path(&file.path, "the file contains only comments"),
                }
            }
            Content::Unreadable(reason) => {
                reporter.path(&file.path, format!("failed to read the file: {reason}"));
            }
            Content::Documents { .. } | Content::Other => {}
        }
    }
    for file in context.bundle.files.iter().filter(|file| NAMES.contains(&file.path.as_str())) {
        reporter.help("move the file to metadata/");
        reporter.path(&file.path, "the file is not read: it belongs in `metadata/`");
    }
}
