use crate::model::bundle::ANNOTATIONS_FILE;
use crate::model::{Content, First};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "yaml-syntax",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file in `manifests/`, or metadata/annotations.yaml, is not valid YAML for Kubernetes and OLM.",
    impacts: &[
        Impact::UnpackFails,
        Impact::Specific("Other tools report a missing CSV or missing annotations instead."),
    ],
    help: "correct the syntax at this position",
    sources: &[Source::file(Project::GoYaml, "decode.go").since("2.0")],
    check: Check::Bundle(check),
};

/// What to do about a file that cannot be read.
const UNREADABLE: &str = "replace it with a regular file that can be read, or remove it";

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().chain(context.bundle.file(ANNOTATIONS_FILE)) {
        match &file.content {
            Content::Documents { error: Some(error), first: First::Unreadable, .. } => {
                let tab = ["tab", "cannot start any token"].iter().any(|what| error.message.contains(what));
                let fix = || Fix::at(Safety::Safe, error.position, &file.path, Change::Untab);
                reporter.fix(tab.then(fix));
                reporter.place(file, error.position, format!("invalid YAML: {}", error.message));
            }
            Content::Unreadable(reason) => {
                reporter.help(UNREADABLE);
                reporter.path(&file.path, format!("failed to read the file: {reason}"));
            }
            Content::Documents { .. } | Content::Other => {}
        }
    }
}
