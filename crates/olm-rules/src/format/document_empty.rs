use crate::prelude::*;
use kube_yaml::{First, Tree};
use olm_model::{Content, File};

pub(crate) static RULE: Rule = Rule {
    id: "document-empty",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file in `manifests/` contains no object before its first document separator.",
    impacts: &[
        Impact::SdkRejects,
        Impact::InstallPlanFails,
        Impact::Specific("Tools read only the document before the first separator."),
    ],
    help: "delete the file, or move comments below the first `---`",
    sources: &[
        Source::symbols(Project::Apimachinery, "pkg/util/yaml/decoder.go", &["YAMLReader"]).since("1.16"),
        Source::file(Project::OperatorRegistry, "pkg/lib/bundle/supported_resources.go").since("1.6"),
    ],
    check: Check::Bundle(check),
};

/// Reports what an empty document hides: separators and comments precede it.
pub(super) fn report_unread(file: &File, first: &Tree, what: &str, reporter: &mut Reporter<'_>) {
    reporter.help("remove the empty document, or the `---` line before it");
    let message =
        format!("the {what} is not read: only the first document of a file is read, and it is empty");
    reporter.place(file, first.root().position(), message);
}

/// Returns whether the name of a file says that it contains manifests.
fn is_yaml(file: &File) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|end| file.path.ends_with(end))
}

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests() {
        if let Content::Documents { first: First::Empty, documents, .. } = &file.content {
            match documents.first() {
                None => {
                    if !is_yaml(file) {
                        reporter.help("move the file out of manifests/");
                    }
                    reporter.path(&file.path, "the file contains no object");
                }
                Some(first) => report_unread(file, first, "object", reporter),
            }
        }
    }
}
