use crate::model::{Content, First};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "No file in `manifests/` is a `ClusterServiceVersion`.",
    why: "The CSV is what OLM installs; a bundle without one is none.",
    help: "add the ClusterServiceVersion, or generate the bundle",
    source: "operator-framework/api, pkg/manifests/bundleloader.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let manifests = || context.bundle.files.iter().filter(|file| file.is_manifest());
    // Where a file could not be read, the CSV may well be in it, and yaml-syntax has named the file.
    let unread = manifests().any(|file| {
        matches!(file.content, Content::Unreadable(_) | Content::Documents { first: First::Unreadable, .. })
    });
    if context.bundle.csv().is_none() && !unread && manifests().next().is_some() {
        reporter.path("manifests", "no file holds a ClusterServiceVersion");
    }
}
