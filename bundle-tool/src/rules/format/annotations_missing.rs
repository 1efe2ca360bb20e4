use crate::model::bundle::ANNOTATIONS_FILE;
use crate::model::{Content, File, First};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "annotations-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "No file in `metadata/` has a map `annotations` at its root.",
    why: "The bundle image's labels, and with them the package and its channels, come from that file.",
    help: "write metadata/annotations.yaml with `annotations:` at its root, or generate the bundle",
    source: "operator-registry, pkg/lib/bundle/validate.go (ValidateBundleFormat)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let bundle = context.bundle;
    if bundle.annotations().is_some() {
        return;
    }
    // Where the file could not be read, yaml-syntax has named it.
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
                format!("the annotations are {}, where a map belongs", value.kind()),
            ),
            None => reporter.path(ANNOTATIONS_FILE, "the file has no map `annotations` at its root"),
        },
        None => reporter.path(ANNOTATIONS_FILE, "the bundle has no annotations"),
    }
}
