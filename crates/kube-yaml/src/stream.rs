//! Reads documents through libyaml's parser.

use std::cell::OnceCell;

use libyaml_safer::{Event, EventData, Mark, Parser, ScalarStyle};

use super::libyaml::{Chunks, ended, excessive_directives, index, position, syntax_error, tag_before_comma};
use crate::json_text;
use crate::tree_builder::{Document, Documents, MAX_DOCUMENTS, Text};
use crate::{Style, SyntaxError, Tree};

/// Returns the documents of a text without a byte order mark.
pub(crate) fn documents(text: &[u8]) -> Documents {
    match tag_before_comma(text).or_else(|| excessive_directives(text)) {
        Some((end, wrong)) => Documents { error: Some(wrong), ..read_documents(&text[..end]) },
        None => read_documents(text),
    }
}

fn read_documents(text: &[u8]) -> Documents {
    let ended = ended(text);
    let mut parser = Parser::new();
    parser.set_input(Chunks::new(&ended));
    let mut read = Documents::default();
    read.error = read_stream(&mut parser, text, &mut read).err();
    read
}

type Events<'b> = Parser<Chunks<'b>>;

fn read_stream(parser: &mut Events<'_>, text: &[u8], read: &mut Documents) -> Result<(), SyntaxError> {
    let slashes = text.windows(2).any(|pair| pair == b"\\/") && !json_text::is_json(text);
    let source = OnceCell::new();
    // Mostly, the first document is the only one.
    let mut capacity = text.len();
    loop {
        let event = next(parser)?;
        match event.data {
            EventData::StreamEnd => return Ok(()),
            EventData::DocumentStart { .. } => {
                let document = Document::new(text, &source, std::mem::take(&mut capacity), &mut read.counts);
                let tree = Stream { text, slashes, document }.read(parser)?;
                if tree.root().is_null() {
                    continue;
                }
                if read.trees.len() >= MAX_DOCUMENTS {
                    let message = format!("more than {MAX_DOCUMENTS} documents");
                    return Err(SyntaxError { message, position: tree.root().position() });
                }
                read.trees.push(tree);
            }
            _ => {}
        }
    }
}

fn next(parser: &mut Events<'_>) -> Result<Event, SyntaxError> {
    parser.parse().map_err(|error| syntax_error(&error))
}

/// A document that libyaml's events describe.
struct Stream<'t> {
    text: &'t [u8],
    /// Whether escaped slashes are to be looked for.
    slashes: bool,
    document: Document<'t>,
}

impl Stream<'_> {
    fn read(mut self, parser: &mut Events<'_>) -> Result<Tree, SyntaxError> {
        loop {
            let event = next(parser)?;
            let place = position(event.start_mark);
            let node = match event.data {
                EventData::DocumentEnd { .. } | EventData::StreamEnd => {
                    return Ok(self.document.finish());
                }
                EventData::Scalar { anchor, tag, mut value, plain_implicit, style, .. } => {
                    if style == ScalarStyle::DoubleQuoted {
                        self.check_escapes(event.start_mark, event.end_mark)?;
                    }
                    let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                    // `ended` added a line break to the text.
                    if block && index(event.end_mark) > self.text.len() && value.ends_with('\n') {
                        value.pop();
                    }
                    let text = Text {
                        value: &value,
                        plain: plain_implicit,
                        style: written(style),
                        position: place,
                        range: index(event.start_mark)..index(event.end_mark),
                        has_lines: event.end_mark.line > event.start_mark.line,
                    };
                    self.document.scalar_node(tag.as_deref(), anchor, &text)?
                }
                EventData::Alias { anchor } => self.document.alias(&anchor, place)?,
                EventData::SequenceStart { anchor, .. } => {
                    self.document.begin(false, anchor, place)?;
                    continue;
                }
                EventData::MappingStart { anchor, .. } => {
                    self.document.begin(true, anchor, place)?;
                    continue;
                }
                EventData::SequenceEnd | EventData::MappingEnd => self.document.end()?,
                EventData::StreamStart { .. } | EventData::DocumentStart { .. } => continue,
            };
            self.document.add(node);
        }
    }

    /// Rejects the escape of a slash, which JSON and libyaml have, and go-yaml v2 does not.
    fn check_escapes(&self, start: Mark, end: Mark) -> Result<(), SyntaxError> {
        if !self.slashes {
            return Ok(());
        }
        let mut written = self.text.get(index(start)..index(end)).unwrap_or_default().iter();
        while let Some(byte) = written.next() {
            if *byte == b'\\' && written.next() == Some(&b'/') {
                let message = "found unknown escape character `\\/`".to_owned();
                return Err(SyntaxError { message, position: position(start) });
            }
        }
        Ok(())
    }
}

/// Returns the style of a scalar.
fn written(style: ScalarStyle) -> Option<Style> {
    match style {
        ScalarStyle::Plain => Some(Style::Plain),
        ScalarStyle::SingleQuoted => Some(Style::SingleQuoted),
        ScalarStyle::DoubleQuoted => Some(Style::DoubleQuoted),
        ScalarStyle::Literal => Some(Style::Literal),
        ScalarStyle::Folded => Some(Style::Folded),
        _ => None,
    }
}
