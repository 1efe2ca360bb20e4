use crate::model::yaml::{Kind, Tree};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "document-not-object",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file in `manifests/` holds text, a number or a list instead of an object.",
    why: "OLM's loaders read every file in that folder as a Kubernetes object and fail.",
    help: "move the file out of manifests/, or write one object a file",
    source: "operator-framework/api, pkg/manifests/bundleloader.go (loadBundle)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests() {
        let Some(root) = file.document().map(Tree::root) else { continue };
        if !matches!(root.kind(), Kind::Object | Kind::Null) {
            reporter.place(
                file,
                root.position(),
                format!("the file holds {} where an object belongs", root.kind()),
            );
        }
    }
}
