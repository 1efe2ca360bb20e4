use crate::prelude::*;
use crate::shared::hidden_csv;
use kube_yaml::First;
use olm_model::Content;

pub(crate) static RULE: Rule = Rule {
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
    if context.bundle.csv().is_some() || unread || manifests().next().is_none() {
        return;
    }
    // unsupported-kind reports an object without its kind.
    if context.objects.iter().any(|object| hidden_csv::is_meant(object.root)) {
        return;
    }
    match hidden_csv::unread(context.bundle) {
        // document-empty reports what precedes it.
        Some((file, _)) if file.document().is_none() => {}
        Some((file, csv)) => {
            reporter.help("move the ClusterServiceVersion to a file of its own");
            let message = "unread ClusterServiceVersion: only the first document of a file is read";
            reporter.place(file, csv.root().position(), message);
        }
        None => reporter.path("manifests", "missing `ClusterServiceVersion`"),
    }
}
