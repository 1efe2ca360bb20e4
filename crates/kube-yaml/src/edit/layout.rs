//! How a text is laid out: its lines, and how strings are written beside what is there.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::Style;
use crate::emit::is_plain_string;
use crate::spans::{Content, Span};

/// Returns whether a character ends a line, for YAML 1.1.
pub(crate) fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns where the line begins that contains the byte at `at`.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    let before = text[..at].char_indices().rev().find(|(_, char)| is_break(*char));
    before.map_or(0, |(at, char)| at + char.len_utf8())
}

/// Returns where the line ends that contains the byte at `at`, before its line break.
pub(crate) fn line_content_end(text: &str, at: usize) -> usize {
    text[at..].find(is_break).map_or(text.len(), |offset| at + offset)
}

/// Returns where the line ends that contains the byte before `at`, after its line break.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    if text[..at].ends_with(is_break) {
        return at;
    }
    after_break(text, line_content_end(text, at))
}

/// Returns what follows the line break at `at`.
fn after_break(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with("\r\n") { at + 2 } else { at + rest.chars().next().map_or(0, char::len_utf8) }
}

/// Returns the line break that a text uses: the first one that is not part of a text of some script.
pub(crate) fn line_break(text: &str) -> &'static str {
    match text.find(['\n', '\r']).map(|at| &text[at..]) {
        Some(rest) if rest.starts_with("\r\n") => "\r\n",
        Some(rest) if rest.starts_with('\r') => "\r",
        _ => "\n",
    }
}

pub(crate) fn is_flow(span: &Span) -> bool {
    matches!(span.content, Content::Sequence(true, _) | Content::Mapping(true, _))
}

/// Returns a value with a space before it, if it replaces nothing after a colon or a dash.
pub(crate) fn spaced(text: &str, value: &Span, new: String) -> String {
    let is_empty = value.range.is_empty();
    if is_empty && text[..value.range.start].ends_with([':', '-']) { format!(" {new}") } else { new }
}

/// Writes a string on one line, in the style of the scalar that it replaces where that is possible.
pub(crate) fn string(text: &str, style: Style, in_flow: bool) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '+' | ' ');
    let bare = !text.is_empty()
        && is_plain_string(text)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        && !text.ends_with(' ')
        && text.chars().all(|c| is_safe(c) || !in_flow && c == ',');
    match style {
        Style::Plain if bare => text.to_owned(),
        Style::SingleQuoted if !text.chars().any(is_escaped) => format!("'{}'", text.replace('\'', "''")),
        _ => quoted(text),
    }
}

/// Writes a string in double quotes, as JSON and YAML read it.
pub(crate) fn quoted(text: &str) -> String {
    let json = Json::from(text).to_string();
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if is_escaped(char) {
            let mut units = [0; 2];
            for unit in char.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(char);
        }
    }
    out
}

/// Returns whether YAML reads a character in a quoted scalar as a line break, or not at all.
fn is_escaped(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// How values are written within a collection in flow style.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow<'t> {
    /// Whether all strings are in double quotes, as in JSON.
    pub(crate) is_json: bool,
    /// The indentation of the lines that entries take, and what each level adds to it; `None` on one line.
    pub(crate) lines: Option<(&'t str, &'t str, &'t str)>,
}

impl Flow<'_> {
    /// Writes a string.
    pub(crate) fn string(self, text: &str) -> String {
        if self.is_json { quoted(text) } else { string(text, Style::Plain, true) }
    }

    /// Writes a value.
    pub(crate) fn value(self, value: &Json) -> String {
        let mut out = String::new();
        self.push(value, 0, &mut out);
        out
    }

    /// Writes an entry of a map.
    pub(crate) fn entry(self, key: &str, value: &Json) -> String {
        format!("{}: {}", self.string(key), self.value(value))
    }

    fn push(self, value: &Json, depth: usize, out: &mut String) {
        let line = |depth: usize, out: &mut String| {
            if let Some((line_break, indent, unit)) = self.lines {
                out.push_str(line_break);
                out.push_str(indent);
                out.push_str(&unit.repeat(depth));
            }
        };
        let separator = if self.lines.is_some() { "," } else { ", " };
        match value {
            Json::String(text) => out.push_str(&self.string(text)),
            Json::Array(items) if !items.is_empty() => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { separator });
                    line(depth + 1, out);
                    self.push(item, depth + 1, out);
                }
                line(depth, out);
                out.push(']');
            }
            Json::Object(map) if !map.is_empty() => {
                out.push('{');
                for (index, (key, value)) in map.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { separator });
                    line(depth + 1, out);
                    out.push_str(&self.string(key));
                    out.push_str(": ");
                    self.push(value, depth + 1, out);
                }
                line(depth, out);
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }
}

/// Returns the lines of a text as YAML counts them, each with its line break.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = after_break(text, line_content_end(text, start));
        lines.push(&text[start..end]);
        start = end;
    }
    lines
}
