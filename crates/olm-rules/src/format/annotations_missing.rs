use super::document_empty::report_unread;
use crate::prelude::*;
use kube_yaml::{First, Tree};
use olm_model::bundle::ANNOTATIONS_FILE;
use olm_model::{Content, File};

pub(crate) static RULE: Rule = Rule {
    id: "annotations-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "No file in `metadata/` has a map `annotations` at its root.",
    impacts: &[
        Impact::SdkRejects,
        Impact::Specific(
            "The labels of the bundle image, including package and channels, come from that file.",
        ),
    ],
    help: "add metadata/annotations.yaml with a map `annotations`, or generate the bundle with `bundle-tool generate bundle`",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/lib/bundle/validate.go",
        &["ValidateBundleFormat"],
    )
    .since("1.12")],
    check: Check::Bundle(check),
};

/// Returns whether a file has a map `annotations` at its root, and is no object.
pub(super) fn is_annotations(file: &File) -> bool {
    let root = file.document().map(Tree::root);
    root.is_some_and(|root| root.get("annotations").is_some() && root.get("kind").is_none())
}

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let bundle = context.bundle;
    if bundle.annotations().is_some() {
        return;
    }
    // yaml-syntax reports a file that cannot be read.
    let unread = |file: &File| {
        matches!(file.content, Content::Unreadable(_) | Content::Documents { first: First::Unreadable, .. })
    };
    match bundle.file(ANNOTATIONS_FILE) {
        Some(file) if unread(file) => {}
        Some(file) => match file.document().and_then(|tree| tree.root().get("annotations")) {
            Some(value) => reporter.at(
                file,
                "annotations",
                value.position(),
                format!("invalid annotations: expected a map, found {}", value.kind()),
            ),
            None => match &file.content {
                Content::Documents { first: First::Empty, documents, .. } if !documents.is_empty() => {
                    report_unread(file, &documents[0], "map `annotations`", reporter);
                }
                _ => reporter.path(ANNOTATIONS_FILE, "missing map `annotations` at the root of the file"),
            },
        },
        // unsupported-kind reports the file in manifests/.
        None if bundle.file("manifests/annotations.yaml").is_some_and(is_annotations) => {}
        None => {
            if bundle.file("annotations.yaml").is_some_and(is_annotations) {
                reporter.help("move annotations.yaml to metadata/");
            }
            reporter.path(ANNOTATIONS_FILE, "missing file `metadata/annotations.yaml`");
        }
    }
}
