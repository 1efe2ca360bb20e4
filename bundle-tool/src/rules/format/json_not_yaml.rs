use crate::model::Content;
use crate::model::bundle::ANNOTATIONS_FILE;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "json-not-yaml",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file in `manifests/`, or metadata/annotations.yaml, is JSON with a string that YAML does not take: a character written as two escapes, an escaped slash, a control character, or bytes that are not UTF-8.",
    why: "operator-sdk reads the file as YAML and refuses the bundle, although OLM would read it as JSON.",
    help: "write the character itself, or the file in YAML",
    source: "operator-framework/api, pkg/manifests/bundleloader.go (loadBundle)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().chain(context.bundle.file(ANNOTATIONS_FILE)) {
        if let Content::Documents { json_only: Some(position), .. } = &file.content {
            reporter.place(
                file,
                *position,
                "operator-sdk reads JSON as YAML, which does not take this string",
            );
        }
    }
}
