use crate::prelude::*;
use olm_model::file::MANIFESTS;
use olm_model::{Content, File};

pub(crate) static RULE: Rule = Rule {
    id: "manifests-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The bundle has no directory `manifests/`, or the directory is empty.",
    impacts: &[Impact::SdkRejects, Impact::UnpackFails],
    help: "pass the directory that contains manifests/ and metadata/, or generate the bundle with `bundle-tool generate bundle`",
    sources: &[Source::file(Project::OperatorRegistry, "docs/design/operator-bundle.md").since("1.5")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let files = &context.bundle.files;
    if files.iter().any(|file| file.path.starts_with(MANIFESTS)) {
        return;
    }
    // A directory would have a `/`.
    let is_link = |file: &&File| file.path == MANIFESTS.trim_end_matches('/');
    match files.iter().find(is_link).map(|file| &file.content) {
        Some(Content::Unreadable(reason)) => {
            reporter.path("manifests", format!("missing manifests: `manifests`: {reason}"));
        }
        _ => reporter
            .path("manifests", "missing manifests: the directory `manifests` does not exist or is empty"),
    }
}
