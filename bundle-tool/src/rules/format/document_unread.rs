use crate::model::{Content, First};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "document-unread",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file in `manifests/` or `metadata/` contains more than one document.",
    impacts: &[Impact::Specific(
        "operator-sdk, opm and OLM read only the first document of a file, and ignore the others without an error.",
    )],
    help: "move each document to a file of its own",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/decode.go", &["decodeFileFS"]).since("1.7"),
        Source::file(Project::OperatorFrameworkApi, "pkg/manifests/bundleloader.go").since("0.4"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let files = context.bundle.files.iter().filter(|file| file.is_manifest() || file.is_metadata());
    for file in files {
        let Content::Documents { documents, error, first: First::Value, .. } = &file.content else {
            continue;
        };
        if let Some(second) = documents.get(1) {
            let message = "unused document: only the first document of a file is read";
            reporter.place(file, second.root().position(), message);
        } else if let Some(error) = error {
            let message = format!("unused document with invalid YAML: {}", error.message);
            reporter.place(file, error.position, message);
        }
    }
}
