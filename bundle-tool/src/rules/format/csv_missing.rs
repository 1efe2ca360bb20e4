use crate::model::{Content, First};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "csv-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "No file in `manifests/` is a `ClusterServiceVersion`.",
    impacts: &[Impact::SdkRejects, Impact::UnpackFails],
    help: "add a ClusterServiceVersion, or generate the bundle with `bundle-tool generate bundle`",
    sources: &[Source::file(Project::OperatorFrameworkApi, "pkg/manifests/bundleloader.go").since("0.4")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let manifests = || context.bundle.files.iter().filter(|file| file.is_manifest());
    // A file that cannot be read may be the CSV; yaml-syntax reports it.
    let unread = manifests().any(|file| {
        matches!(file.content, Content::Unreadable(_) | Content::Documents { first: First::Unreadable, .. })
    });
    if context.bundle.csv().is_none() && !unread && manifests().next().is_some() {
        reporter.path("manifests", "missing `ClusterServiceVersion`");
    }
}
