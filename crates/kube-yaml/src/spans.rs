//! Where the values of a YAML document are in its source: ranges of bytes, for changes that leave the rest as it is.

use std::ops::Range;

use libyaml_safer::{Event, EventData, MappingStyle, Mark, Parser, ScalarStyle, SequenceStyle};

use super::libyaml::{
    BYTE_ORDER_MARK, Chunks, ended, excessive_directives, index, position, tag_before_comma,
};
use crate::tree_builder::{MAX_DEPTH, MAX_VALUES};

use crate::{Position, Style};

/// A value and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The bytes of the value. In block style, they end where its last scalar does.
    pub range: Range<usize>,
    /// The position of the first byte.
    pub position: Position,
    /// What is there.
    pub content: Content,
}

/// What is at a [`Span`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A scalar, its value, and whether it has no anchor or tag.
    Scalar(Style, String, bool),
    /// A list; `true` in flow style.
    Sequence(bool, Vec<Span>),
    /// A map; `true` in flow style.
    Mapping(bool, Vec<(Span, Span)>),
    /// A reference to another value.
    Alias,
}

/// A collection whose end has not been read.
struct Open {
    mapping: bool,
    flow: bool,
    start: usize,
    position: Position,
    children: Vec<Span>,
}

/// Returns the values of a text's first document; nothing if it is invalid or exceeds the limits of
/// [`crate::parse`], or if it does not use `\n` or `\r\n` as line breaks.
#[must_use]
pub fn spans(text: &[u8]) -> Option<Span> {
    let offset = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    if tag_before_comma(&text[offset..]).or_else(|| excessive_directives(&text[offset..])).is_some() {
        return None;
    }
    let ended = ended(&text[offset..]);
    let mut parser = Parser::new();
    parser.set_input(Chunks::new(&ended));
    let mut open: Vec<Open> = Vec::new();
    let mut count = 0;
    loop {
        let Event { data, start_mark, end_mark, .. } = parser.parse().ok()?;
        count += 1;
        if count > MAX_VALUES || open.len() > MAX_DEPTH {
            return None;
        }
        let (start, end) = (offset + index(start_mark), (offset + index(end_mark)).min(text.len()));
        let place = position(start_mark);
        let span = match data {
            EventData::Scalar { anchor, tag, value, style, .. } => {
                let content = Content::Scalar(style_of(style)?, value, anchor.is_none() && tag.is_none());
                Span { range: start..end, position: place, content }
            }
            EventData::Alias { .. } => Span { range: start..end, position: place, content: Content::Alias },
            EventData::SequenceStart { style, .. } => {
                let flow = style == SequenceStyle::Flow;
                open.push(Open { mapping: false, flow, start, position: place, children: Vec::new() });
                continue;
            }
            EventData::MappingStart { style, .. } => {
                let flow = style == MappingStyle::Flow;
                open.push(Open { mapping: true, flow, start, position: place, children: Vec::new() });
                continue;
            }
            EventData::SequenceEnd | EventData::MappingEnd => closed(open.pop()?, end),
            EventData::StreamEnd | EventData::DocumentEnd { .. } => return None,
            EventData::StreamStart { .. } | EventData::DocumentStart { .. } => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.children.push(span),
            None => return Some(span),
        }
    }
}

/// Returns the lines of the block scalars of all documents, from 0: that of the header, and those of the text. Nothing if the
/// text is invalid or exceeds the limits of [`crate::parse`].
#[must_use]
pub(crate) fn block_scalars(text: &[u8]) -> Option<Vec<Range<usize>>> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if tag_before_comma(text).or_else(|| excessive_directives(text)).is_some() {
        return None;
    }
    let ended = ended(text);
    let mut parser = Parser::new();
    parser.set_input(Chunks::new(&ended));
    let mut found = Vec::new();
    for _ in 0..MAX_VALUES {
        let Event { data, start_mark, end_mark, .. } = parser.parse().ok()?;
        let line = |mark: Mark| usize::try_from(mark.line).ok();
        match data {
            EventData::StreamEnd => return Some(found),
            EventData::Scalar { style: ScalarStyle::Literal | ScalarStyle::Folded, .. } => {
                found.push(line(start_mark)?..line(end_mark)?);
            }
            _ => {}
        }
    }
    None
}

fn closed(open: Open, end: usize) -> Span {
    let Open { mapping, flow, start, position, children } = open;
    // The end of a collection in block style is that of the next token.
    let end = if flow { end } else { children.last().map_or(start, |child| child.range.end) };
    let content = if mapping {
        let mut entries = Vec::with_capacity(children.len() / 2);
        let mut children = children.into_iter();
        while let (Some(key), Some(value)) = (children.next(), children.next()) {
            entries.push((key, value));
        }
        Content::Mapping(flow, entries)
    } else {
        Content::Sequence(flow, children)
    };
    Span { range: start..end, position, content }
}

fn style_of(style: ScalarStyle) -> Option<Style> {
    Some(match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_before_a_comma_has_no_spans() {
        assert!(spans(b"{a: !b, c: d}\n").is_none());
        assert!(spans(b"{a: !b x, c: d}\n").is_some());
    }
}
