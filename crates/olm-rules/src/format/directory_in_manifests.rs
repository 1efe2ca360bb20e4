use crate::prelude::*;
use olm_model::file::{MANIFESTS, METADATA};

pub(crate) static RULE: Rule = Rule {
    id: "directory-in-manifests",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` or `metadata/` contains a directory.",
    impacts: &[Impact::UnpackFails, Impact::SdkRejects],
    help: "move the files into manifests/ itself, or out of the bundle",
    sources: &[
        Source::symbols(Project::OperatorFrameworkApi, "pkg/manifests/bundleloader.go", &["loadBundle"])
            .since("0.4"),
        Source::symbols(Project::OperatorRegistry, "pkg/configmap/configmap_writer.go", &["Populate"])
            .since("1.5"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for directory in &context.bundle.directories {
        let within = directory
            .strip_prefix(MANIFESTS)
            .or_else(|| directory.strip_prefix(METADATA))
            .unwrap_or_default();
        if within.matches('/').count() == 1 {
            reporter.path(directory, "unexpected directory");
        }
    }
}
