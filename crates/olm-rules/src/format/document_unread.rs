use super::yaml_syntax::report;
use crate::prelude::*;
use crate::shared::hidden_csv;
use kube_yaml::First;
use olm_model::Content;

pub(crate) static RULE: Rule = Rule {
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
    // csv-missing reports the only CSV.
    let only_csv = match context.bundle.csv() {
        Some(_) => None,
        None => hidden_csv::unread(context.bundle).map(|(with_csv, _)| with_csv.path.as_str()),
    };
    let files = context.bundle.files.iter().filter(|file| file.is_manifest() || file.is_metadata());
    for file in files {
        let Content::Documents { documents, error, first: First::Value, .. } = &file.content else {
            continue;
        };
        if only_csv == Some(file.path.as_str()) && documents.len() == 2 {
            continue;
        }
        if let Some(second) = documents.get(1) {
            let message = "unused document: only the first document of a file is read";
            reporter.place(file, second.root().position(), message);
        } else if let Some(error) = error {
            report(file, error, "invalid YAML in an unused document", reporter);
        }
    }
}
