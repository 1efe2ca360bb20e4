use crate::prelude::*;
use kube_yaml::First;
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
            None => reporter.path(ANNOTATIONS_FILE, "missing map `annotations` at the root of the file"),
        },
        None => reporter.path(ANNOTATIONS_FILE, "missing file `metadata/annotations.yaml`"),
    }
}
