//! Scripts in YAML: GitHub workflows, GitLab CI and Tekton tasks.

use std::ops::Range;

use super::shell::Dialect;
use kube_yaml::Style;
use kube_yaml::spans::{Content, Span, spans};

/// What a YAML file runs.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    /// Scripts, by their ranges in the file.
    pub(super) texts: Vec<(Range<usize>, Dialect)>,
    /// Lists of a program and its arguments: `command` followed by `args`.
    pub(super) lists: Vec<Vec<(Range<usize>, String)>>,
    /// The positions of scripts that cannot be changed, because they contain escapes.
    pub(super) escaped: Vec<(Range<usize>, String)>,
    /// Whether a document could not be parsed.
    pub(super) is_incomplete: bool,
}

/// The keys of scripts: strings, or lists of strings.
const SCRIPTS: [&str; 4] = ["run", "script", "before_script", "after_script"];

/// Returns what the documents of a file run.
pub(super) fn scripts(text: &str) -> Scripts {
    let mut found = Scripts::default();
    for document in documents(text) {
        let part = &text[document.clone()];
        if part.trim().is_empty() {
            continue;
        }
        match spans(part.as_bytes()) {
            Some(span) => visit(&span, text, document.start, &mut found),
            None => {
                found.is_incomplete |=
                    !part.lines().all(|line| line.trim().is_empty() || line.starts_with('#'));
            }
        }
    }
    found
}

/// Returns the ranges of the documents of a file.
fn documents(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" && at > start {
            found.push(start..at);
            start = at;
        }
        at += line.len();
    }
    found.push(start..at);
    found
}

fn visit(span: &Span, text: &str, offset: usize, found: &mut Scripts) {
    match &span.content {
        Content::Sequence(_, items) => items.iter().for_each(|item| visit(item, text, offset, found)),
        Content::Mapping(_, entries) => {
            let mut list = Vec::new();
            for (key, value) in entries {
                match &key.content {
                    Content::Scalar(_, name, _) if SCRIPTS.contains(&name.as_str()) => {
                        script(value, text, offset, found);
                    }
                    Content::Scalar(_, name, _) if name == "command" || name == "args" => {
                        let items = items(value, offset);
                        // A script is an argument of a shell.
                        if items.iter().any(|(_, item)| item.contains(char::is_whitespace)) {
                            script(value, text, offset, found);
                        } else if name == "command" {
                            list.splice(0..0, items);
                        } else {
                            list.extend(items);
                        }
                    }
                    _ => visit(value, text, offset, found),
                }
            }
            if !list.is_empty() {
                found.lists.push(list);
            }
        }
        Content::Scalar(..) | Content::Alias => {}
    }
}

fn items(span: &Span, offset: usize) -> Vec<(Range<usize>, String)> {
    let Content::Sequence(_, items) = &span.content else { return Vec::new() };
    let scalar = |item: &Span| match &item.content {
        Content::Scalar(_, value, _) => {
            Some((item.range.start + offset..item.range.end + offset, value.clone()))
        }
        _ => None,
    };
    items.iter().filter_map(scalar).collect()
}

/// Adds a script: a scalar, or each item of a list.
fn script(span: &Span, text: &str, offset: usize, found: &mut Scripts) {
    let range = span.range.start + offset..(span.range.end + offset).min(text.len());
    match &span.content {
        Content::Sequence(_, items) => items.iter().for_each(|item| script(item, text, offset, found)),
        Content::Scalar(style, value, _) => {
            let inner = || range.start + 1..range.end.saturating_sub(1).max(range.start + 1);
            let block =
                || text[range.clone()].find('\n').map_or(range.end, |at| range.start + at + 1)..range.end;
            let (inner, dialect, is_escaped) = match style {
                Style::Plain => (range.clone(), Dialect::Folded, false),
                Style::SingleQuoted => (inner(), Dialect::Folded, value.contains('\'')),
                Style::DoubleQuoted => (inner(), Dialect::Folded, text[range.clone()].contains('\\')),
                Style::Literal => (block(), Dialect::Shell, false),
                Style::Folded => (block(), Dialect::Folded, false),
            };
            if is_escaped {
                found.escaped.push((range, value.clone()));
            } else {
                found.texts.push((inner, dialect));
            }
        }
        // Such as `script: {…}`.
        Content::Mapping(..) => visit(span, text, offset, found),
        Content::Alias => {}
    }
}
