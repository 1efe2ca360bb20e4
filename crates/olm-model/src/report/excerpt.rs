//! The line of a file that a finding points at, and the part of it that is underlined.
//!
//! Findings have positions, not ranges: how much is underlined follows from what is written there. A key is underlined
//! with its value if both are on the line, other values up to their end.

use std::ops::Range;

use memchr::memchr2_iter;

use kube_yaml::text::is_escaped;

/// Lines that are longer, in bytes, are not shown: a position in them takes time in proportion to their length.
const MAX_LINE: usize = 64 << 10;
/// The number of characters that are kept before what is underlined.
const MAX_BEFORE: usize = 160;
/// The number of characters that are kept of what is underlined and follows it.
const MAX_AFTER: usize = 200;
/// What stands for a character that a terminal would obey.
const REPLACEMENT: char = '\u{fffd}';

/// One line of a file, or a part of a long one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, without characters that a terminal obeys.
    pub text: String,
    /// What is underlined, in bytes of `text`.
    pub span: Range<usize>,
    /// The column in the file, in characters from 1, behind what is underlined.
    pub end_column: u32,
    /// Whether the beginning of the line is missing, so that columns of `text` are not those of the file.
    pub is_cut: bool,
}

/// The lines of a file.
#[derive(Debug)]
pub struct Lines<'t> {
    text: &'t [u8],
    /// Where lines begin.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// Splits a text into lines as YAML does: at line feeds, carriage returns, and Unicode's line separators.
    #[must_use]
    pub fn new(text: &'t [u8]) -> Self {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let mut starts = vec![0];
        if text.is_ascii() {
            let is_first_half = |at: usize| text[at] == b'\r' && text.get(at + 1) == Some(&b'\n');
            starts.extend(memchr2_iter(b'\n', b'\r', text).filter(|at| !is_first_half(*at)).map(|at| at + 1));
            return Self { text, starts };
        }
        let mut at = 0;
        while at < text.len() {
            let length = match &text[at..] {
                [b'\r', b'\n', ..] | [0xc2, 0x85, ..] => 2,
                [b'\n' | b'\r', ..] => 1,
                [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
                _ => {
                    at += 1;
                    continue;
                }
            };
            at += length;
            starts.push(at);
        }
        Self { text, starts }
    }

    /// Returns the number of a line, from 1, by the offset of a byte in it.
    #[must_use]
    pub fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset).max(1)
    }

    /// Returns the lines with the offset at which each begins, without line breaks.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'t [u8])> + '_ {
        (0..self.starts.len()).map(|index| (self.starts[index], self.bytes(index)))
    }

    fn bytes(&self, index: usize) -> &'t [u8] {
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        let mut line = &self.text[self.starts[index]..end];
        for line_break in ["\r\n", "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"] {
            if let Some(rest) = line.strip_suffix(line_break.as_bytes()) {
                line = rest;
                break;
            }
        }
        line
    }

    /// Returns the excerpt for a position, both from 1; nothing where the file has no such place, or none that can be
    /// shown.
    #[must_use]
    pub fn excerpt(&self, line: u32, column: u32) -> Option<Excerpt> {
        self.at(line, column, end_of)
    }

    /// Returns the excerpt for a place in a text, such as that of a syntax error: one word or character is underlined.
    #[must_use]
    pub fn point(&self, line: u32, column: u32) -> Option<Excerpt> {
        self.at(line, column, |line, start| {
            let rest = &line[start..];
            let word = rest.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(rest.len());
            start + word.max(rest.chars().next().map_or(0, char::len_utf8))
        })
    }

    fn at(&self, line: u32, column: u32, end_of: impl Fn(&str, usize) -> usize) -> Option<Excerpt> {
        let index = usize::try_from(line).ok()?.checked_sub(1).filter(|index| *index < self.starts.len())?;
        let line =
            std::str::from_utf8(Some(self.bytes(index)).filter(|line| line.len() <= MAX_LINE)?).ok()?;
        let before = usize::try_from(column).ok()?.checked_sub(1)?;
        let start = match line.char_indices().nth(before) {
            Some((start, _)) => start,
            None if line.chars().count() == before => line.len(),
            None => return None,
        };
        let end = end_of(line, start);
        let width = u32::try_from(line[start..end].chars().count()).ok()?;
        let end_column = column.saturating_add(width);
        let first = line[..start].char_indices().rev().take(MAX_BEFORE).last().map_or(start, |(at, _)| at);
        let last = line[start..].char_indices().nth(MAX_AFTER).map_or(line.len(), |(at, _)| start + at);
        let mut text = String::with_capacity(last - first);
        let mut span = 0..0;
        for (at, char) in line[first..last].char_indices() {
            if first + at == start {
                span.start = text.len();
            }
            if first + at == end {
                span.end = text.len();
            }
            text.push(if char != '\t' && is_escaped(char) { REPLACEMENT } else { char });
        }
        if start == last {
            span.start = text.len();
        }
        if end >= last {
            span.end = text.len();
        }
        Some(Excerpt { text, span, end_column, is_cut: first > 0 })
    }
}

/// Returns where that ends which begins at a byte of a line: a key with its value, a quoted string, a plain value.
fn end_of(line: &str, start: usize) -> usize {
    let rest = line[start..].trim_end();
    let in_flow = rest.starts_with('"') && key_length(rest).is_some() || opens_flow(&line[..start]);
    let token = token_length(rest, in_flow);
    let end = match key_length(rest) {
        Some(length) => {
            let behind = &rest[length..];
            let value = behind.trim_start();
            match value.chars().next() {
                // The value is on the lines below, or is a collection.
                None | Some('|' | '>' | '{' | '[' | '&' | '#') => length - 1,
                Some(_) => length + (behind.len() - value.len()) + token_length(value, in_flow),
            }
        }
        None => token,
    };
    // At least one character, if there is one.
    start + end.max(rest.chars().next().map_or(0, char::len_utf8))
}

/// Returns whether a list or map of the flow style is open at the end of a line's beginning.
fn opens_flow(before: &str) -> bool {
    before.matches(['{', '[']).count() > before.matches(['}', ']']).count()
}

/// Returns the length of a key with its colon; nothing if the text does not begin with a key.
fn key_length(text: &str) -> Option<usize> {
    let length = match text.chars().next()? {
        quote @ ('"' | '\'') => quoted_length(text, quote)?,
        '{' | '[' | '}' | ']' | ',' => return None,
        _ => text.match_indices(':').map(|(at, _)| at).find(|at| {
            let behind = &text[at + 1..];
            behind.is_empty() || behind.starts_with([' ', '\t'])
        })?,
    };
    let is_key = text[length..].starts_with(':') && !text[..length].contains([',', '{', '[']);
    is_key.then_some(length + 1)
}

fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        if char == '\\' && quote == '"' {
            chars.next();
        } else if char == quote {
            // Two single quotes stand for one.
            if quote == '"' || chars.next_if(|(_, next)| *next == quote).is_none() {
                return Some(at + 1);
            }
        }
    }
    None
}

fn token_length(text: &str, in_flow: bool) -> usize {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted_length(text, quote).unwrap_or(text.len()),
        Some('{' | '[' | '}' | ']' | ',') => 1,
        _ => {
            let comment = text.find(" #").unwrap_or(text.len());
            let end = if in_flow { text.find([',', '}', ']']).unwrap_or(comment) } else { comment };
            text[..end.min(comment)].trim_end().len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn underlined(line: &str, column: u32) -> String {
        let excerpt = Lines::new(line.as_bytes()).excerpt(1, column).unwrap();
        excerpt.text[excerpt.span].to_owned()
    }

    #[test]
    fn a_key_is_underlined_with_its_value() {
        for (line, column, expected) in [
            ("  version: v2 # comment", 3, "version: v2"),
            ("  version: \"a # b\" # c", 3, "version: \"a # b\""),
            ("  owned:", 3, "owned"),
            ("  alm-examples: |-", 3, "alm-examples"),
            ("  labels: {a: b}", 3, "labels"),
            ("- name: x", 3, "name: x"),
            ("- quay.io/a/b:v1", 3, "quay.io/a/b:v1"),
            ("  channels: alpha, beta", 3, "channels: alpha, beta"),
            ("  labels: {a: b, c: d}", 12, "a: b"),
            ("  \"spec\": {\"a\": 1},", 12, "\"a\": 1"),
            ("  \"kind\": \"x\",", 3, "\"kind\": \"x\""),
            ("   \"spec\" 1}", 11, "1}"),
            ("  [a, b]", 4, "a"),
            ("{", 1, "{"),
            ("  x: 'it''s'", 3, "x: 'it''s'"),
        ] {
            assert_eq!(underlined(line, column), expected, "{line}");
        }
    }

    #[test]
    fn positions_behind_the_text_and_outside_of_it() {
        let lines = Lines::new(b"a: b\r\nc\n");
        assert_eq!(lines.excerpt(2, 2).unwrap().span, 1..1);
        assert_eq!(lines.excerpt(3, 1).unwrap().text, "");
        assert_eq!(lines.point(1, 4).unwrap().span, 3..4);
        assert_eq!(Lines::new(b"a == bc + d").point(1, 6).unwrap().span, 5..7);
        assert_eq!(lines.excerpt(1, 6), None);
        assert_eq!(lines.excerpt(4, 1), None);
        assert_eq!(lines.excerpt(0, 0), None);
        assert_eq!(lines.excerpt(1, 1).unwrap().end_column, 5);
        assert_eq!((lines.line_of(0), lines.line_of(6), lines.line_of(8)), (1, 2, 3));
        assert_eq!(Lines::new(b"\xff\xfea\0").excerpt(1, 1), None);
    }

    #[test]
    fn lines_end_at_every_break() {
        for (text, starts) in [
            ("a\r\nb\rc\n\nd", vec![0, 3, 5, 7, 8]),
            ("ä\r\nb\rc\n\u{85}d\u{2028}e", vec![0, 4, 6, 8, 10, 14]),
            ("", vec![0]),
        ] {
            let lines = Lines::new(text.as_bytes());
            assert_eq!(lines.starts, starts, "{text:?}");
            assert!(lines.iter().all(|(_, line)| line.len() <= 2), "{text:?}");
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}x: {}", "ä".repeat(1000), "y".repeat(1000));
        let excerpt = Lines::new(line.as_bytes()).excerpt(1, 1001).unwrap();
        assert_eq!(excerpt.text.chars().count(), MAX_BEFORE + MAX_AFTER);
        assert!(excerpt.text[excerpt.span.clone()].starts_with("x: y"), "{excerpt:?}");
        assert_eq!(excerpt.span.end, excerpt.text.len());
        assert_eq!(excerpt.end_column, 1001 + 1003);
        assert_eq!(Lines::new("x".repeat(MAX_LINE + 1).as_bytes()).excerpt(1, 1), None);
    }

    #[test]
    fn what_a_terminal_obeys_is_replaced() {
        let excerpt = Lines::new("a: \x1b[31m\u{202e}x".as_bytes()).excerpt(1, 1).unwrap();
        assert_eq!(excerpt.text, "a: \u{fffd}[31m\u{fffd}x");
        assert_eq!(&excerpt.text[excerpt.span], "a: \u{fffd}[31m\u{fffd}x");
    }
}
