//! Scripts in YAML: GitHub workflows, GitLab CI and Tekton tasks.

use std::ops::Range;

use super::dockerfile;
use super::shell::{self, Dialect};
use kube_yaml::Style;
use kube_yaml::spans::{Content, Span, spans};

/// What a YAML file runs.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    /// Scripts, by their ranges in the file, and whether they run in an image of opm or operator-sdk.
    pub(super) texts: Vec<(Range<usize>, Dialect, bool)>,
    /// Lists of a program and its arguments: `command` followed by `args`.
    pub(super) lists: Vec<Vec<(Range<usize>, String)>>,
    /// Scripts that cannot be changed, and why.
    pub(super) kept: Vec<(Range<usize>, &'static str)>,
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
            Some(span) => {
                let is_other_shell = !is_posix(&span).unwrap_or(true);
                let machine =
                    Machine { is_other_shell, is_tool_image: is_tool_image(&span).unwrap_or(false) };
                Visitor { text, offset: document.start, found: &mut found }.visit(&span, machine);
            }
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

/// Where the scripts in a value run.
#[derive(Debug, Clone, Copy)]
struct Machine {
    /// Whether the shell is not a POSIX shell.
    is_other_shell: bool,
    /// Whether the image is one of opm or operator-sdk.
    is_tool_image: bool,
}

/// Goes through the values of a document.
struct Visitor<'t> {
    text: &'t str,
    offset: usize,
    found: &'t mut Scripts,
}

impl Visitor<'_> {
    /// Finds the scripts in a value, which run on a machine unless the value names another one.
    fn visit(&mut self, span: &Span, machine: Machine) {
        let entries = match &span.content {
            Content::Sequence(_, items) => {
                return items.iter().for_each(|item| self.visit(item, machine));
            }
            Content::Mapping(_, entries) => entries,
            Content::Scalar(..) | Content::Alias => return,
        };
        let machine = Machine {
            is_other_shell: is_posix(span).map_or(machine.is_other_shell, |is_posix| !is_posix),
            is_tool_image: is_tool_image(span).unwrap_or(machine.is_tool_image),
        };
        let mut list = Vec::new();
        for (key, value) in entries {
            match &key.content {
                Content::Scalar(_, name, _) if SCRIPTS.contains(&name.as_str()) => {
                    self.script(value, machine);
                }
                Content::Scalar(_, name, _) if name == "command" || name == "args" => {
                    let items = items(value, self.offset);
                    // A script is an argument of a shell.
                    if items.iter().any(|(_, item)| item.contains(char::is_whitespace)) {
                        self.script(value, machine);
                    } else if name == "command" {
                        list.splice(0..0, items);
                    } else {
                        list.extend(items);
                    }
                }
                _ => self.visit(value, machine),
            }
        }
        if !list.is_empty() {
            self.found.lists.push(list);
        }
    }

    /// Adds a script: a scalar, or each item of a list.
    fn script(&mut self, span: &Span, machine: Machine) {
        let text = self.text;
        let range = span.range.start + self.offset..(span.range.end + self.offset).min(text.len());
        let (style, value, is_plain) = match &span.content {
            Content::Sequence(_, items) => {
                return items.iter().for_each(|item| self.script(item, machine));
            }
            // Such as `script: {…}`.
            Content::Mapping(..) => return self.visit(span, machine),
            Content::Alias => return,
            Content::Scalar(style, value, is_plain) => (style, value, *is_plain),
        };
        let raw = &text[range.clone()];
        let interpreter = value.lines().next().unwrap_or_default().strip_prefix("#!");
        let reason = if machine.is_other_shell || interpreter.is_some_and(|line| !shell::is_posix(line)) {
            Some("the script does not run in a POSIX shell")
        } else if !is_plain {
            Some("the script has an anchor or a tag; write it without")
        } else {
            let is_escaped = match style {
                Style::Plain => has_line_breaks(raw),
                Style::SingleQuoted => value.contains('\'') || has_line_breaks(raw),
                Style::DoubleQuoted => raw.contains('\\') || has_line_breaks(raw),
                Style::Literal => false,
                Style::Folded => has_line_breaks(&text[block(text, &range)]),
            };
            is_escaped.then_some(
                "the script contains escapes or folded line breaks; write it as a block scalar (`|`)",
            )
        };
        if let Some(reason) = reason {
            return self.found.kept.push((range, reason));
        }
        let inner = range.start + 1..range.end.saturating_sub(1).max(range.start + 1);
        let (range, dialect) = match style {
            Style::Plain => (range, Dialect::Folded),
            Style::SingleQuoted | Style::DoubleQuoted => (inner, Dialect::Folded),
            Style::Literal => {
                let block = block(text, &range);
                let line =
                    text[block.clone()].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                (block, Dialect::Indented(line.len() - line.trim_start_matches(' ').len()))
            }
            Style::Folded => (block(text, &range), Dialect::Folded),
        };
        self.found.texts.push((range, dialect, machine.is_tool_image));
    }
}

/// Returns the range of the lines of a block scalar.
fn block(text: &str, range: &Range<usize>) -> Range<usize> {
    text[range.clone()].find('\n').map_or(range.end, |at| range.start + at + 1)..range.end
}

/// Returns whether a folded scalar has more in its lines than words: a blank line or one that is more indented, which is a line
/// break, a comment, a here-document, or a backslash at the end of a line.
fn has_line_breaks(raw: &str) -> bool {
    let raw = raw.trim_end();
    let mut lines = raw.lines();
    let is_block = raw.starts_with(' ');
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let Some(first) = lines.next() else { return false };
    let mut before = first;
    for line in lines {
        let is_break = line.trim().is_empty() || is_block && indent(line) != indent(first);
        if is_break || before.contains('#') || before.trim_end().ends_with('\\') || raw.contains("<<") {
            return true;
        }
        before = line;
    }
    false
}

/// Returns whether the scripts in a mapping run in a POSIX shell, if it says so: `shell`, `defaults.run.shell`, or `runs-on` a
/// machine whose shell is PowerShell.
fn is_posix(span: &Span) -> Option<bool> {
    let scalar = |span: &Span| match &span.content {
        Content::Scalar(_, value, _) => Some(value.clone()),
        _ => None,
    };
    if let Some(name) = entry(span, "shell").and_then(scalar) {
        return Some(shell::is_posix(&name));
    }
    let default =
        entry(span, "defaults").and_then(|span| entry(span, "run")).and_then(|span| entry(span, "shell"));
    if let Some(name) = default.and_then(scalar) {
        return Some(shell::is_posix(&name));
    }
    let machine = entry(span, "runs-on").and_then(scalar);
    machine.filter(|machine| machine.contains("windows")).map(|_| false)
}

/// Returns whether the image that the scripts in a mapping run in is one of opm or operator-sdk, if it names one: `container` of
/// GitHub workflows, or `image`, each as a string or as a mapping.
fn is_tool_image(span: &Span) -> Option<bool> {
    let image = entry(span, "container").or_else(|| entry(span, "image"))?;
    let image = entry(image, "image").or_else(|| entry(image, "name")).unwrap_or(image);
    match &image.content {
        Content::Scalar(_, name, _) => Some(dockerfile::is_tool_image(name)),
        _ => None,
    }
}

fn entry<'s>(span: &'s Span, key: &str) -> Option<&'s Span> {
    let Content::Mapping(_, entries) = &span.content else { return None };
    let found =
        entries.iter().find(|(name, _)| matches!(&name.content, Content::Scalar(_, name, _) if name == key));
    found.map(|(_, value)| value)
}

/// Returns whether each document of a file can still be parsed, and has the same keys and the same number of values.
pub(super) fn has_same_shape(old: &str, new: &str) -> bool {
    let shapes = |text: &str| -> Vec<Option<String>> {
        let parse = |range: Range<usize>| spans(text[range].as_bytes()).map(|span| shape(&span));
        documents(text).into_iter().map(parse).collect()
    };
    shapes(old) == shapes(new)
}

/// Returns the keys and kinds of a value and those within it.
fn shape(span: &Span) -> String {
    match &span.content {
        Content::Sequence(_, items) => format!("[{}]", items.iter().map(shape).collect::<Vec<_>>().join(",")),
        Content::Mapping(_, entries) => {
            let entry = |(key, value): &(Span, Span)| {
                let name = if let Content::Scalar(_, name, _) = &key.content { name.as_str() } else { "" };
                format!("{name:?}:{}", shape(value))
            };
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Content::Scalar(..) => "s".to_owned(),
        Content::Alias => "a".to_owned(),
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
