use crate::prelude::*;
use kube_yaml::edit::replace_tabs;
use kube_yaml::{First, SyntaxError};
use olm_model::bundle::ANNOTATIONS_FILE;
use olm_model::{Content, File};

pub(crate) static RULE: Rule = Rule {
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

/// What to do about a tab that cannot be replaced without a decision, such as one before the first line.
const TAB: &str = "remove the tab, or indent with as many spaces as the lines around it";
/// What the other tools do with a file in UTF-16: they read it line by line.
const UTF_16: &str = "save the file in UTF-8, for example with `iconv -f UTF-16 -t UTF-8`";

/// Returns whether a file begins with a byte order mark of UTF-16.
fn is_utf_16(bytes: &[u8]) -> bool {
    (bytes.starts_with(b"\xff\xfe") && !bytes.starts_with(b"\xff\xfe\0\0")) || bytes.starts_with(b"\xfe\xff")
}

/// What to do about a file that cannot be read.
const UNREADABLE: &str = "replace it with a regular file that can be read, or remove it";

/// Reports what makes a file invalid, and replaces tabs in its indentation if that is certain to repair it.
pub(super) fn report(file: &File, error: &SyntaxError, what: &str, reporter: &mut Reporter<'_>) {
    let is_tab = error.message.starts_with("tab in") || error.message.contains("cannot start any token");
    let is_fixable = is_tab && str::from_utf8(&file.bytes).is_ok_and(|text| replace_tabs(text).is_some());
    let fix = || Fix::at(Safety::Safe, error.position, &file.path, Change::ReplaceTabs);
    reporter.fix(is_fixable.then(fix));
    if let Some(help) = error.help {
        reporter.help(if is_tab && !is_fixable { TAB } else { help });
    }
    reporter.place(file, error.position, format!("{what}: {}", error.message));
}

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().chain(context.bundle.file(ANNOTATIONS_FILE)) {
        match &file.content {
            Content::Documents { .. } if is_utf_16(&file.bytes) => {
                reporter.help(UTF_16);
                reporter.path(&file.path, "the file is encoded in UTF-16: must be UTF-8");
            }
            Content::Documents { error: Some(error), first: First::Unreadable, .. } => {
                report(file, error, "invalid YAML", reporter);
            }
            Content::Unreadable(reason) => {
                reporter.help(UNREADABLE);
                reporter.path(&file.path, format!("failed to read the file: {reason}"));
            }
            Content::Documents { .. } | Content::Other => {}
        }
    }
    let around = context.bundle.submission.iter().flat_map(|submission| &submission.files);
    for file in context.bundle.dockerfile.iter().chain(around) {
        if let Content::Unreadable(reason) = &file.content {
            reporter.help(UNREADABLE);
            reporter.path(&file.path, format!("failed to read the file: {reason}"));
        }
    }
}
