//! Maps positions within a scalar's text to positions in the file, for errors of a parser that reads the scalar, such as
//! that of JSON in a block scalar.
//!
//! Literal scalars keep their lines, so that every position is exact. Quoted and plain scalars are decoded again, up to
//! the wanted character. Folded scalars are matched line by line.

use super::position::Position;

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// Returns the position of the byte `offset` of a scalar's `text`, which is written as `source` (with its anchor and tag)
/// from `start` on; nothing where it cannot be determined.
pub(crate) fn position_within(
    source: &str,
    start: Position,
    style: Style,
    text: &str,
    offset: usize,
) -> Option<Position> {
    let skipped = properties(source);
    let start = advanced(start, &source[..skipped]);
    let source = &source[skipped..];
    match style {
        Style::Literal => literal(source, start, text, offset),
        Style::Folded => folded(source, start, text, offset),
        Style::Plain => flow(source, start, None, offset),
        Style::SingleQuoted => flow(source.strip_prefix('\'')?, next_column(start), Some('\''), offset),
        Style::DoubleQuoted => flow(source.strip_prefix('"')?, next_column(start), Some('"'), offset),
    }
}

fn next_column(position: Position) -> Position {
    Position { column: position.column.saturating_add(1), ..position }
}

/// Returns the position after `passed`, which begins at `from`.
fn advanced(from: Position, passed: &str) -> Position {
    let mut position = from;
    let mut chars = passed.chars().peekable();
    while let Some(char) = chars.next() {
        if is_break(char) && !(char == '\r' && chars.peek() == Some(&'\n')) {
            position = Position { line: position.line.saturating_add(1), column: 1 };
        } else {
            position = next_column(position);
        }
    }
    position
}

fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns the length of the anchor and the tag before a scalar, with the spaces and comments after them.
fn properties(source: &str) -> usize {
    let mut rest = source;
    while rest.starts_with(['&', '!']) {
        rest = rest.trim_start_matches(|char: char| !char.is_whitespace());
        loop {
            rest = rest.trim_start();
            if !rest.starts_with('#') {
                break;
            }
            rest = rest.trim_start_matches(|char| char != '\n');
        }
    }
    source.len() - rest.len()
}

/// Returns the line and the column, in characters from zero, of a byte in a text whose line breaks are `\n`.
fn line_and_column(text: &str, offset: usize) -> Option<(usize, usize)> {
    let before = text.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Some((before.matches('\n').count(), before[line_start..].chars().count()))
}

fn literal(source: &str, start: Position, text: &str, offset: usize) -> Option<Position> {
    let (line, column) = line_and_column(text, offset)?;
    let source_line = source.lines().nth(line + 1)?;
    let text_line = text.lines().nth(line).unwrap_or_default();
    let indent = source_line.chars().count().saturating_sub(text_line.chars().count());
    position(start, line + 1, indent + column)
}

/// Returns the position `lines` below `start`, at a column from zero.
fn position(start: Position, lines: usize, column: usize) -> Option<Position> {
    Some(Position {
        line: start.line.checked_add(u32::try_from(lines).ok()?)?,
        column: u32::try_from(column).ok()?.checked_add(1)?,
    })
}

fn folded(source: &str, start: Position, text: &str, offset: usize) -> Option<Position> {
    let indent_of = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut lines = source.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()).peekable();
    let first_text = text.lines().find(|line| !line.trim().is_empty())?;
    let indent = indent_of(lines.peek()?.1).checked_sub(indent_of(first_text))?;
    let mut at = 0;
    for (number, line) in lines {
        let content = line.get(indent..)?;
        // One line break is a space, several are one fewer.
        let rest = text.get(at..)?;
        let skipped = rest.len() - rest.trim_start_matches('\n').len();
        at += skipped;
        if skipped == 0 && at > 0 && !rest.starts_with(content) {
            at += usize::from(rest.starts_with(' '));
        }
        if !text.get(at..)?.starts_with(content) {
            return None;
        }
        if offset <= at + content.len() {
            let column = text.get(at..offset.max(at))?.chars().count();
            return position(start, number, indent + column);
        }
        at += content.len();
    }
    None
}

/// Decodes a plain or quoted scalar up to the byte `offset` of its text.
fn flow(source: &str, start: Position, quote: Option<char>, offset: usize) -> Option<Position> {
    let mut decoded = 0;
    let mut rest = source;
    let mut here = start;
    loop {
        let Some(char) = rest.chars().next() else { return (decoded == offset).then_some(here) };
        // The length in the source, and the number of bytes that it decodes to.
        let (length, bytes) = if char == ' ' || char == '\t' || is_break(char) {
            let blanks = rest.len() - rest.trim_start_matches(|c| c == ' ' || c == '\t' || is_break(c)).len();
            let blank = &rest[..blanks];
            match breaks(blank) {
                // A single blank at a time, so that each has a position.
                0 => (char.len_utf8(), char.len_utf8()),
                1 => (blanks, 1),
                count => (blanks, count - 1),
            }
        } else if char == '\\' && quote == Some('"') {
            escape(&rest[1..])?
        } else if Some(char) == quote {
            match char {
                '\'' if rest[1..].starts_with('\'') => (2, 1),
                // The end of the text.
                _ => return (decoded == offset).then_some(here),
            }
        } else {
            (char.len_utf8(), char.len_utf8())
        };
        if decoded + bytes > offset {
            return Some(here);
        }
        decoded += bytes;
        here = advanced(here, &rest[..length]);
        rest = &rest[length..];
    }
}

fn breaks(blank: &str) -> usize {
    blank.replace("\r\n", "\n").chars().filter(|&char| is_break(char)).count()
}

/// Returns the length of an escape with its backslash, and of what it decodes to; `rest` is what follows the backslash.
fn escape(rest: &str) -> Option<(usize, usize)> {
    let char = rest.chars().next()?;
    let code = |digits: usize| {
        let code = u32::from_str_radix(rest.get(1..=digits)?, 16).ok()?;
        Some((digits + 2, char::from_u32(code)?.len_utf8()))
    };
    match char {
        'x' => code(2),
        'u' => code(4),
        'U' => code(8),
        'N' | '_' => Some((2, 2)),
        'L' | 'P' => Some((2, 3)),
        char if is_break(char) => {
            let blanks = rest.len() - rest.trim_start_matches(|c| c == ' ' || c == '\t' || is_break(c)).len();
            Some((1 + blanks, breaks(&rest[..blanks]).saturating_sub(1)))
        }
        char => Some((1 + char.len_utf8(), 1)),
    }
}
