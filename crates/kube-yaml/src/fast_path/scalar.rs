//! Scalars: plain, quoted and in block style.

use std::ops::Range;

use super::lines::{Unusual, Usual};
use super::reader::Reader;
use crate::Style;
use crate::tree_builder::Text;

/// What the rest of a line is, read as a plain scalar.
pub(crate) struct Plain {
    /// Without spaces at the end.
    pub(crate) end: usize,
    pub(crate) stop: Stop,
}

pub(crate) enum Stop {
    /// The line ends there.
    Line,
    /// A comment follows.
    Comment,
    /// A colon follows, and a space or the end of the line.
    Colon,
}

/// Adds what stands for line breaks between two lines of text.
fn fold(text: &mut String, breaks: usize) {
    if breaks == 1 {
        text.push(' ');
    } else {
        add_breaks(text, breaks.saturating_sub(1));
    }
}

fn add_breaks(text: &mut String, breaks: usize) {
    text.extend(std::iter::repeat_n('\n', breaks));
}

impl Reader<'_, '_> {
    /// Reads a scalar or a flow collection and what may follow on its line.
    pub(crate) fn scalar(&mut self, parent: usize) -> Usual<()> {
        match self.lines.byte(self.lines.at) {
            Some(b'"' | b'\'') => {
                self.quoted()?;
                self.lines.finish_line()
            }
            Some(b'|' | b'>') => self.block(parent),
            Some(b'{' | b'[') => {
                self.flow()?;
                self.lines.finish_line()
            }
            _ => self.plain(parent),
        }
    }

    /// Returns how far a plain scalar goes on its line; `first` if it begins there.
    ///
    /// Source: `fetch_next_token` and `scan_plain_scalar`.
    pub(crate) fn plain_until(&self, at: usize, first: bool) -> Usual<Plain> {
        if first {
            match self.lines.byte(at).ok_or(Unusual)? {
                b'-' if self.lines.is_blank(at + 1) => return Err(Unusual),
                b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>'
                | b'\'' | b'"' | b'%' | b'@' | b'`' => return Err(Unusual),
                _ => {}
            }
        }
        let end = self.lines.end(at);
        let line = &self.lines.bytes()[at..end];
        let mut stop = (line.len(), Stop::Line);
        for index in memchr::memchr3_iter(b':', b'#', b'\t', line) {
            match line[index] {
                b':' if matches!(line.get(index + 1), None | Some(b' ')) => {
                    stop = (index, Stop::Colon);
                    break;
                }
                b'#' if index > 0 && line[index - 1] == b' ' => {
                    stop = (index, Stop::Comment);
                    break;
                }
                b'\t' => return Err(Unusual),
                _ => {}
            }
        }
        let (length, stop) = stop;
        let spaces = line[..length].iter().rev().take_while(|&&byte| byte == b' ').count();
        Ok(Plain { end: at + length - spaces, stop })
    }

    /// Adds a plain scalar of one line.
    pub(crate) fn plain_text(&mut self, range: Range<usize>) -> Usual<()> {
        let position = self.lines.position(range.start);
        let value = &self.lines.text[range.clone()];
        let text = Text { value, plain: true, style: Some(Style::Plain), position, range, has_lines: false };
        self.document.add_text(&text)?;
        Ok(())
    }

    /// Reads a plain scalar, which goes on in lines that are indented further than `parent`.
    fn plain(&mut self, parent: usize) -> Usual<()> {
        let from = self.lines.at;
        let position = self.lines.position(from);
        let Plain { mut end, mut stop } = self.plain_until(from, true)?;
        let mut folded = false;
        loop {
            match stop {
                Stop::Colon => return Err(Unusual),
                Stop::Comment => break,
                Stop::Line => {}
            }
            // The next line with anything in it.
            let mut ahead = self.lines;
            ahead.at = end;
            let mut breaks = 0;
            loop {
                ahead.skip_spaces();
                match ahead.byte(ahead.at) {
                    Some(b'\n') => {
                        breaks += 1;
                        ahead.start_line_after(ahead.at);
                    }
                    Some(b'\t') => return Err(Unusual),
                    _ => break,
                }
            }
            let column = ahead.at - ahead.start;
            if matches!(ahead.byte(ahead.at), None | Some(b'#')) || column <= parent {
                break;
            }
            if !folded {
                folded = true;
                self.buffer.clear();
                self.buffer.push_str(&self.lines.text[from..end]);
            }
            fold(&mut self.buffer, breaks);
            self.lines = ahead;
            let next = self.plain_until(ahead.at, false)?;
            self.buffer.push_str(&self.lines.text[ahead.at..next.end]);
            Plain { end, stop } = next;
        }
        if folded {
            let value = std::mem::take(&mut self.buffer);
            let style = Some(Style::Plain);
            let text =
                Text { value: &value, plain: true, style, position, range: from..end, has_lines: true };
            self.document.add_text(&text)?;
            self.buffer = value;
        } else {
            self.plain_text(from..end)?;
        }
        self.lines.at = end;
        self.lines.finish_line()
    }

    /// Reads a quoted scalar.
    ///
    /// Source: `scan_flow_scalar`.
    pub(crate) fn quoted(&mut self) -> Usual<()> {
        let bytes = self.lines.bytes();
        let start = self.lines.at;
        let quote = bytes[start];
        let (position, first_line) = (self.lines.position(start), self.lines.line);
        // A quote is escaped by another one, or everything by a backslash.
        let escape = if quote == b'"' { b'\\' } else { quote };
        let mut from = start + 1;
        // Whether the value is in the buffer.
        let mut is_copied = false;
        // Spaces up to there belong to the value.
        let mut kept = 0;
        let close = loop {
            let next = memchr::memchr3(quote, escape, b'\n', &bytes[from..]).ok_or(Unusual)? + from;
            let byte = bytes[next];
            let is_escape = byte == escape && (byte == b'\\' || bytes.get(next + 1) == Some(&quote));
            let is_end = byte == quote && !is_escape;
            if is_end && !is_copied {
                break next;
            }
            if !is_copied {
                is_copied = true;
                self.buffer.clear();
            }
            self.buffer.push_str(&self.lines.text[from..next]);
            if is_end {
                break next;
            }
            from = if byte == b'\n' {
                let text = kept + self.buffer[kept..].trim_end_matches([' ', '\t']).len();
                self.buffer.truncate(text);
                self.folded_lines(next, false)?
            } else if byte == quote {
                self.buffer.push(char::from(quote));
                next + 2
            } else if bytes.get(next + 1) == Some(&b'\n') {
                self.folded_lines(next + 1, true)?
            } else {
                self.escape(next + 1)?
            };
            kept = self.buffer.len();
        };
        let style = Some(if quote == b'"' { Style::DoubleQuoted } else { Style::SingleQuoted });
        let buffer = std::mem::take(&mut self.buffer);
        let value = if is_copied { buffer.as_str() } else { &self.lines.text[start + 1..close] };
        let has_lines = self.lines.line > first_line;
        let text = Text { value, plain: false, style, position, range: start..close + 1, has_lines };
        self.document.add_text(&text)?;
        self.buffer = buffer;
        self.lines.at = close + 1;
        Ok(())
    }

    /// Moves behind the line break at an offset and those that follow, and adds what stands for them; the first does not count if it
    /// is escaped. Returns where the text goes on.
    fn folded_lines(&mut self, at: usize, is_escaped: bool) -> Usual<usize> {
        let mut breaks = 0;
        self.lines.at = at;
        loop {
            match self.lines.byte(self.lines.at) {
                Some(b'\n') => {
                    breaks += 1;
                    self.lines.start_line_after(self.lines.at);
                    if self.lines.is_any_marker(self.lines.start) {
                        return Err(Unusual);
                    }
                }
                Some(b' ' | b'\t') => self.lines.at += 1,
                Some(_) => break,
                None => return Err(Unusual),
            }
        }
        if is_escaped {
            add_breaks(&mut self.buffer, breaks - 1);
        } else {
            fold(&mut self.buffer, breaks);
        }
        Ok(self.lines.at)
    }

    /// Adds what an escape stands for; `at` is behind its backslash. Returns the offset behind it.
    fn escape(&mut self, at: usize) -> Usual<usize> {
        let code = match self.lines.byte(at).ok_or(Unusual)? {
            byte @ (b'"' | b'\\' | b' ') => char::from(byte),
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            escape @ (b'x' | b'u') => {
                let length = if escape == b'x' { 2 } else { 4 };
                let digits = self.lines.text.get(at + 1..at + 1 + length).ok_or(Unusual)?;
                // `from_str_radix` accepts a sign.
                if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err(Unusual);
                }
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or(Unusual)?;
                self.buffer.push(code);
                return Ok(at + 1 + length);
            }
            _ => return Err(Unusual),
        };
        self.buffer.push(code);
        Ok(at + 1)
    }

    /// Reads a block scalar.
    ///
    /// Source: `scan_block_scalar`.
    fn block(&mut self, parent: usize) -> Usual<()> {
        let start = self.lines.at;
        let position = self.lines.position(start);
        let is_literal = self.lines.byte(start) == Some(b'|');
        self.lines.at += 1;
        let (mut chomping, mut increment) = (None, None);
        loop {
            match self.lines.byte(self.lines.at) {
                Some(sign @ (b'+' | b'-')) if chomping.is_none() => chomping = Some(sign),
                Some(digit @ b'1'..=b'9') if increment.is_none() => {
                    increment = Some(usize::from(digit - b'0'));
                }
                _ => break,
            }
            self.lines.at += 1;
        }
        self.lines.skip_spaces();
        if self.lines.byte(self.lines.at) != Some(b'\n') {
            return Err(Unusual);
        }
        self.lines.start_line_after(self.lines.at);
        let indent = match increment {
            Some(increment) => parent + increment,
            None => self.block_indentation(parent)?,
        };
        let mut value = std::mem::take(&mut self.buffer);
        value.clear();
        // The breaks behind the last line: its own, and those of empty lines.
        let mut breaks = 0;
        let (mut is_first, mut leading_blank) = (true, false);
        let mut end = self.lines.start;
        loop {
            // Empty lines.
            let line = self.lines.start;
            let spaces =
                self.lines.bytes()[line..].iter().take(indent).take_while(|&&byte| byte == b' ').count();
            match self.lines.byte(line + spaces) {
                Some(b'\n') => {
                    breaks += 1;
                    self.lines.start_line_after(line + spaces);
                    end = self.lines.start;
                    continue;
                }
                Some(b'\t') if spaces < indent => return Err(Unusual),
                // `ended` has its own rules for spaces there.
                None if spaces > 0 => return Err(Unusual),
                Some(_) if spaces == indent => {}
                _ => break,
            }
            let content = line + spaces;
            let close = self.lines.end(content);
            if close == self.lines.text.len() {
                return Err(Unusual);
            }
            let trailing_blank = matches!(self.lines.byte(content), Some(b' ' | b'\t'));
            if is_first || is_literal || leading_blank || trailing_blank {
                add_breaks(&mut value, breaks);
            } else {
                fold(&mut value, breaks);
            }
            is_first = false;
            leading_blank = trailing_blank;
            value.push_str(&self.lines.text[content..close]);
            breaks = 1;
            self.lines.start_line_after(close);
            end = self.lines.start;
        }
        match chomping {
            Some(b'-') => {}
            Some(_) => add_breaks(&mut value, breaks),
            None if is_first => {}
            None => value.push('\n'),
        }
        let style = Some(if is_literal { Style::Literal } else { Style::Folded });
        let text = Text { value: &value, plain: false, style, position, range: start..end, has_lines: true };
        self.document.add_text(&text)?;
        self.buffer = value;
        self.lines.find_content()
    }

    /// Returns the indentation of the block scalar whose lines begin here: that of its first line with text.
    fn block_indentation(&self, parent: usize) -> Usual<usize> {
        let mut from = self.lines.start;
        let mut most = 0;
        loop {
            let spaces = self.lines.bytes()[from..].iter().take_while(|&&byte| byte == b' ').count();
            match self.lines.byte(from + spaces) {
                Some(b'\n') => {
                    most = most.max(spaces);
                    from += spaces + 1;
                }
                Some(b'\t') => return Err(Unusual),
                // An empty line with more spaces than the first one with text would decide.
                _ if most > spaces => return Err(Unusual),
                _ => return Ok(spaces.max(parent + 1)),
            }
        }
    }
}
