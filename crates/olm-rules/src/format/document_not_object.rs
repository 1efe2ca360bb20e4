use crate::prelude::*;
use kube_yaml::{Kind, Tree};

pub(crate) static RULE: Rule = Rule {
    id: "document-not-object",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file in `manifests/` contains a string, a number or a list instead of an object.",
    impacts: &[Impact::SdkRejects, Impact::UnpackFails],
    help: "move the file out of manifests/, or replace its content with an object",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/manifests/bundleloader.go",
        &["loadBundle"],
    )
    .since("0.4")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests() {
        let Some(root) = file.document().map(Tree::root) else { continue };
        if !matches!(root.kind(), Kind::Object | Kind::Null) {
            reporter.place(file, root.position(), format!("expected an object, found {}", root.kind()));
        }
    }
}
