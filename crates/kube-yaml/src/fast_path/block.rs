//! Collections in block style.

use super::lines::{Unusual, Usual};
use super::reader::{MAX_KEY, Reader};
use super::scalar::{Plain, Stop};
use crate::tree_builder::Text;
use crate::{Position, Style};

impl Reader<'_, '_> {
    /// Reads a document up to the next marker or the end of the text.
    pub(crate) fn root(&mut self) -> Usual<()> {
        match self.lines.indentation {
            Some(column) if !self.lines.is_document_start() => self.node(None, column),
            _ => {
                let place = self.lines.position(self.lines.at);
                self.null(place)
            }
        }
    }

    /// Reads a node that begins a line, in a collection whose entries have the indentation `parent`.
    fn node(&mut self, parent: Option<usize>, column: usize) -> Usual<()> {
        if self.lines.is_entry() {
            return self.sequence(column, false);
        }
        if parent.is_none() && matches!(self.lines.byte(self.lines.at), Some(b'{' | b'[')) {
            self.flow()?;
            return self.lines.finish_line();
        }
        self.mapping_or_scalar(parent, column)
    }

    /// Reads a mapping, if a key is here, else a scalar.
    fn mapping_or_scalar(&mut self, parent: Option<usize>, column: usize) -> Usual<()> {
        if self.is_key()? {
            return self.mapping(column);
        }
        // A scalar as a document has other rules at the beginning of lines.
        self.scalar(parent.ok_or(Unusual)?)
    }

    fn mapping(&mut self, column: usize) -> Usual<()> {
        self.enter_collection(true)?;
        loop {
            self.key()?;
            self.value(column)?;
            match self.lines.indentation {
                Some(next) if next == column && !self.lines.is_document_start() => {}
                Some(next) if next > column => return Err(Unusual),
                _ => return self.leave_collection(),
            }
        }
    }

    /// Reads a sequence; `indentless` ones have the indentation of the mapping that they are a value of, whose next key ends them.
    fn sequence(&mut self, column: usize, indentless: bool) -> Usual<()> {
        self.enter_collection(false)?;
        loop {
            let after = self.lines.at + 1;
            self.lines.at = after;
            let place = self.lines.position(after);
            self.lines.skip_spaces();
            if self.is_at_line_end() {
                // The spaces before a comment belong to it.
                self.lines.at = after;
                self.lines.finish_line()?;
                match self.lines.indentation {
                    Some(next) if next > column => self.node(Some(column), next)?,
                    _ => self.null(place)?,
                }
            } else if self.lines.is_entry() {
                self.sequence(self.lines.at - self.lines.start, false)?;
            } else {
                match self.lines.byte(self.lines.at) {
                    Some(b'{' | b'[' | b'|' | b'>') => self.scalar(column)?,
                    _ => self.mapping_or_scalar(Some(column), self.lines.at - self.lines.start)?,
                }
            }
            match self.lines.indentation {
                Some(next) if next == column && !self.lines.is_document_start() => {
                    if self.lines.is_entry() {
                        continue;
                    }
                    if !indentless {
                        return Err(Unusual);
                    }
                }
                Some(next) if next > column => return Err(Unusual),
                _ => {}
            }
            return self.leave_collection();
        }
    }

    fn is_at_line_end(&self) -> bool {
        matches!(self.lines.byte(self.lines.at), None | Some(b'\n' | b'#'))
    }

    /// Reads the value behind the colon of a key.
    fn value(&mut self, column: usize) -> Usual<()> {
        let place = self.lines.position(self.lines.at);
        let colon = self.lines.at;
        self.lines.skip_spaces();
        if !self.is_at_line_end() {
            return self.scalar(column);
        }
        // The spaces before a comment belong to it.
        self.lines.at = colon;
        self.lines.finish_line()?;
        match self.lines.indentation {
            Some(next) if next > column => self.node(Some(column), next),
            Some(next) if next == column && self.lines.is_entry() => self.sequence(column, true),
            _ => self.null(place),
        }
    }

    fn null(&mut self, position: Position) -> Usual<()> {
        let text = Text {
            value: "",
            plain: true,
            style: Some(Style::Plain),
            position,
            range: 0..0,
            has_lines: false,
        };
        self.document.add_text(&text)?;
        Ok(())
    }

    /// Returns whether a key is here.
    fn is_key(&self) -> Usual<bool> {
        let at = self.lines.at;
        if !self.is_quote() {
            return Ok(matches!(self.plain_until(at, true)?.stop, Stop::Colon));
        }
        let (quote, line) = (self.lines.bytes()[at], &self.lines.bytes()[at + 1..self.lines.end(at)]);
        let mut from = 0;
        while let Some(length) = line.get(from..).and_then(|rest| memchr::memchr2(quote, b'\\', rest)) {
            let end = from + length;
            from = end + 1;
            if line[end] == b'\\' {
                from += usize::from(quote == b'"');
            } else if quote == b'\'' && line.get(from) == Some(&quote) {
                from += 1;
            } else {
                return Ok(line.get(from) == Some(&b':') && self.lines.is_blank(at + from + 2));
            }
        }
        Ok(false)
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Usual<()> {
        let (at, line) = (self.lines.at, self.lines.line);
        if self.is_quote() {
            self.quoted()?;
        } else {
            let Plain { end, stop: Stop::Colon } = self.plain_until(at, true)? else { return Err(Unusual) };
            // A merge needs an alias, which is unusual.
            if &self.lines.text[at..end] == "<<" {
                return Err(Unusual);
            }
            self.plain_text(at..end)?;
            self.lines.at = end;
        }
        let end = self.lines.at;
        let is_simple = self.lines.line == line && end - at <= MAX_KEY;
        if !is_simple || self.lines.byte(end) != Some(b':') || !self.lines.is_blank(end + 1) {
            return Err(Unusual);
        }
        self.lines.at = end + 1;
        Ok(())
    }
}
