use crate::model::Content;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "annotations-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`metadata/annotations.yaml` is missing, or has no map `annotations` at its root.",
    why: "The bundle image's labels, and with them the package and its channels, come from that file.",
    help: "write metadata/annotations.yaml with `annotations:` at its root, or generate the bundle",
    source: "operator-registry, pkg/lib/bundle/validate.go (ValidateBundleFormat)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    const PATH: &str = "metadata/annotations.yaml";
    if context.bundle.annotations().is_some() {
        return;
    }
    match context.bundle.file(PATH).map(|file| &file.content) {
        None => reporter.path(PATH, "the bundle has no annotations"),
        // yaml-syntax has named these.
        Some(Content::Unreadable(_) | Content::Documents { error: Some(_), .. }) => {}
        Some(_) => reporter.path(PATH, "the file has no map `annotations` at its root"),
    }
}
