//! The lines of a text, and a place in them.

use crate::{Position, SyntaxError};

/// What is left to libyaml.
pub(crate) struct Unusual;

impl From<SyntaxError> for Unusual {
    fn from(_: SyntaxError) -> Self {
        Self
    }
}

pub(crate) type Usual<T> = Result<T, Unusual>;

/// Where the reader is.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'t> {
    pub(crate) text: &'t str,
    /// The offset of the next byte.
    pub(crate) at: usize,
    /// The number of its line, and the offset where that begins.
    pub(crate) line: u32,
    pub(crate) start: usize,
    /// An offset in the line and its column, so that no character is counted twice.
    counted: (usize, u32),
    /// How many spaces the line begins with; `None` at the end of the text.
    pub(crate) indentation: Option<usize>,
}

impl<'t> Lines<'t> {
    /// Returns the beginning of a text.
    pub(crate) fn new(text: &'t str) -> Usual<Self> {
        let mut lines = Self { text, at: 0, line: 1, start: 0, counted: (0, 1), indentation: Some(0) };
        lines.find_content()?;
        Ok(lines)
    }

    pub(crate) fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    pub(crate) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes().get(at).copied()
    }

    /// Returns the offset of the line's end.
    pub(crate) fn end(&self, from: usize) -> usize {
        memchr::memchr(b'\n', &self.bytes()[from..]).map_or(self.text.len(), |length| from + length)
    }

    pub(crate) fn is_blank(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b' ' | b'\n'))
    }

    /// Returns whether the line is `---`, with or without something behind it.
    pub(crate) fn is_document_start(&self) -> bool {
        self.indentation == Some(0) && self.is_marker(self.start, "---")
    }

    /// Returns whether a line that begins at an offset is one of the markers of documents, with or without something behind it.
    pub(crate) fn is_any_marker(&self, start: usize) -> bool {
        ["---", "..."].iter().any(|marker| self.is_marker(start, marker))
    }

    fn is_marker(&self, start: usize, marker: &str) -> bool {
        self.text[start..].starts_with(marker)
            && (self.is_blank(start + marker.len()) || self.byte(start + marker.len()) == Some(b'\t'))
    }

    /// Returns whether an entry of a sequence begins here.
    pub(crate) fn is_entry(&self) -> bool {
        self.byte(self.at) == Some(b'-') && self.is_blank(self.at + 1)
    }

    pub(crate) fn position(&mut self, at: usize) -> Position {
        let (from, column) =
            if (self.start..=at).contains(&self.counted.0) { self.counted } else { (self.start, 1) };
        let is_char = |byte: &&u8| **byte & 0xc0 != 0x80;
        let chars = self.bytes()[from..at].iter().filter(is_char).count();
        let column = column.saturating_add(u32::try_from(chars).unwrap_or(u32::MAX));
        self.counted = (at, column);
        Position { line: self.line, column }
    }

    /// Moves behind a line break.
    pub(crate) fn start_line_after(&mut self, at: usize) {
        self.line += 1;
        self.start = at + 1;
        self.at = at + 1;
    }

    pub(crate) fn skip_spaces(&mut self) {
        let spaces = self.bytes()[self.at..].iter().take_while(|&&byte| byte == b' ').count();
        self.at += spaces;
    }

    /// Moves to the next line with content, from a place that only spaces and a comment may follow.
    pub(crate) fn finish_line(&mut self) -> Usual<()> {
        let before = self.at;
        self.skip_spaces();
        match self.byte(self.at) {
            None => {
                self.indentation = None;
                return Ok(());
            }
            Some(b'\n') => self.start_line_after(self.at),
            Some(b'#') if self.at > before => {
                self.at = self.end(self.at);
                return self.finish_line();
            }
            Some(_) => return Err(Unusual),
        }
        self.find_content()
    }

    /// Moves to the content of this line or, if it has none, of the next one that has.
    pub(crate) fn find_content(&mut self) -> Usual<()> {
        loop {
            self.at = self.start;
            self.skip_spaces();
            match self.byte(self.at) {
                None => {
                    self.indentation = None;
                    return Ok(());
                }
                Some(b'#') => {
                    let end = self.end(self.at);
                    if end == self.text.len() {
                        self.at = end;
                        self.indentation = None;
                        return Ok(());
                    }
                    self.start_line_after(end);
                }
                Some(b'\n') => self.start_line_after(self.at),
                Some(b'\t') => return Err(Unusual),
                Some(_) if self.at == self.start && self.is_marker(self.start, "...") => {
                    return Err(Unusual);
                }
                Some(_) => {
                    self.indentation = Some(self.at - self.start);
                    return Ok(());
                }
            }
        }
    }
}
