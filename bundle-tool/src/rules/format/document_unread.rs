use crate::model::{Content, First};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "document-unread",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file in `manifests/` or `metadata/` holds more than one document.",
    why: "operator-sdk, opm and OLM read the first document of a file and leave the others out without a word.",
    help: "write each object into a file of its own",
    source: "operator-registry, pkg/registry/decode.go (decodeFile); operator-framework/api, pkg/manifests/bundleloader.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let files = context.bundle.files.iter().filter(|file| file.is_manifest() || file.is_metadata());
    for file in files {
        let Content::Documents { documents, error, first: First::Value, .. } = &file.content else {
            continue;
        };
        if let Some(second) = documents.get(1) {
            let message = "nobody reads this document: only the first one of a file counts";
            reporter.place(file, second.root().position(), message);
        } else if let Some(error) = error {
            let message = format!("nobody reads this document, and it is not YAML: {}", error.message);
            reporter.place(file, error.position, message);
        }
    }
}
