//! Collections in flow style, JSON among them.

use super::lines::{Unusual, Usual};
use super::reader::{MAX_KEY, Reader};

impl Reader<'_, '_> {
    /// Moves to the next token of a flow collection.
    fn flow_token(&mut self) -> Usual<u8> {
        loop {
            match self.lines.byte(self.lines.at).ok_or(Unusual)? {
                b' ' => self.lines.at += 1,
                b'\n' => {
                    self.lines.start_line_after(self.lines.at);
                    if self.lines.is_any_marker(self.lines.start) {
                        return Err(Unusual);
                    }
                }
                b'\t' | b'#' => return Err(Unusual),
                byte => return Ok(byte),
            }
        }
    }

    /// Reads a collection in flow style, as JSON has it.
    pub(crate) fn flow(&mut self) -> Usual<()> {
        let mapping = self.lines.byte(self.lines.at) == Some(b'{');
        let close = if mapping { b'}' } else { b']' };
        self.enter_collection(mapping)?;
        self.lines.at += 1;
        if self.flow_token()? != close {
            loop {
                if mapping {
                    self.flow_key()?;
                }
                match self.flow_token()? {
                    b'{' | b'[' => self.flow()?,
                    _ => self.flow_scalar()?,
                }
                match self.flow_token()? {
                    b',' => self.lines.at += 1,
                    byte if byte == close => break,
                    _ => return Err(Unusual),
                }
                self.flow_token()?;
            }
        }
        self.lines.at += 1;
        self.leave_collection()
    }

    fn flow_key(&mut self) -> Usual<()> {
        let (start, line) = (self.lines.at, self.lines.line);
        self.flow_scalar()?;
        let is_short = self.lines.at - start <= MAX_KEY && self.lines.line == line;
        if !is_short || self.lines.byte(self.lines.at) != Some(b':') {
            return Err(Unusual);
        }
        self.lines.at += 1;
        Ok(())
    }

    /// Reads a quoted scalar, or a plain one of a few characters that have no other meaning.
    fn flow_scalar(&mut self) -> Usual<()> {
        let start = self.lines.at;
        if self.is_quote() {
            return self.quoted();
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+$".contains(&byte);
        let bytes = self.lines.bytes();
        let end = start + bytes[start..].iter().take_while(|&&byte| is_plain(byte)).count();
        let is_alone = match self.lines.byte(end) {
            Some(b',' | b']' | b'}' | b' ' | b'\n') => true,
            Some(b':') => matches!(self.lines.byte(end + 1), Some(b' ' | b'\n')),
            _ => false,
        };
        // A space may be followed by more of the scalar: only what ends it is usual.
        let after = bytes[end..].iter().find(|&&byte| byte != b' ' && byte != b'\n');
        if end == start
            || !is_alone
            || !matches!(after, Some(b',' | b']' | b'}' | b':'))
            || (bytes[start] == b'-' && !bytes.get(start + 1).is_some_and(u8::is_ascii_alphanumeric))
        {
            return Err(Unusual);
        }
        self.plain_text(start..end)?;
        self.lines.at = end;
        Ok(())
    }
}
