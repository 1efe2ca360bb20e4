//! Tokens of Go, with comments.
//!
//! Source: the Go Programming Language Specification, "Lexical elements".

use super::error::GoError;

/// A token with its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind<'t>,
    pub(crate) line: u32,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'t> {
    Name(&'t str),
    /// A string, as it is written.
    Text(&'t str),
    /// A number or a rune.
    Literal,
    /// An operator or a delimiter.
    Mark(char),
    /// A semicolon, written or at the end of a line.
    End,
}

/// The tokens of a file. A file can have as many as bytes, so that each takes 16 bytes.
#[derive(Debug)]
pub(crate) struct Tokens<'t> {
    text: &'t str,
    stored: Vec<Stored>,
}

/// A token as it is stored.
#[derive(Debug, Clone, Copy)]
struct Stored {
    kind: StoredKind,
    start: u32,
    length: u32,
    line: u32,
}

#[derive(Debug, Clone, Copy)]
enum StoredKind {
    Name,
    Text,
    Literal,
    Mark(char),
    End,
}

impl<'t> Tokens<'t> {
    /// Returns a token by its number.
    pub(crate) fn get(&self, index: usize) -> Option<Token<'t>> {
        let Stored { kind, start, length, line } = *self.stored.get(index)?;
        let text = || {
            let start = start as usize;
            self.text.get(start..start + length as usize).unwrap_or_default()
        };
        let kind = match kind {
            StoredKind::Name => Kind::Name(text()),
            StoredKind::Text => Kind::Text(text()),
            StoredKind::Literal => Kind::Literal,
            StoredKind::Mark(mark) => Kind::Mark(mark),
            StoredKind::End => Kind::End,
        };
        Some(Token { kind, line })
    }

    /// Returns the last token.
    pub(crate) fn last(&self) -> Option<Token<'t>> {
        self.get(self.stored.len().checked_sub(1)?)
    }

    /// Adds a token that is written at an offset. Offsets fit in 32 bits, because readers reject larger files.
    fn push(&mut self, offset: usize, token: Token<'t>) {
        let (kind, text) = match token.kind {
            Kind::Name(text) => (StoredKind::Name, text),
            Kind::Text(text) => (StoredKind::Text, text),
            Kind::Literal => (StoredKind::Literal, ""),
            Kind::Mark(mark) => (StoredKind::Mark(mark), ""),
            Kind::End => (StoredKind::End, ""),
        };
        let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
        self.stored.push(Stored {
            kind,
            start: number(offset),
            length: number(text.len()),
            line: token.line,
        });
    }
}

/// A comment, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comment<'t> {
    pub(crate) text: &'t str,
    pub(crate) line: u32,
    pub(crate) last_line: u32,
    /// The number of tokens before it.
    pub(crate) at: usize,
}

/// Returns the tokens and comments of a file.
pub(crate) fn tokens(text: &str) -> Result<(Tokens<'_>, Vec<Comment<'_>>), GoError> {
    let mut tokens = Tokens { text, stored: Vec::new() };
    let mut comments = Vec::new();
    let (mut offset, mut line) = (0, 1_u32);
    let ends_statement = |tokens: &Tokens<'_>| {
        tokens.last().is_some_and(|token| match token.kind {
            Kind::Name(name) => !is_open_keyword(name),
            Kind::Text(_) | Kind::Literal => true,
            Kind::Mark(mark) => matches!(mark, ')' | ']' | '}'),
            Kind::End => false,
        })
    };
    while let Some(char) = text[offset..].chars().next() {
        let rest = &text[offset..];
        let at = tokens.stored.len();
        if char == '\n' {
            if ends_statement(&tokens) {
                tokens.push(offset, Token { kind: Kind::End, line });
            }
            (offset, line) = (offset + 1, line.saturating_add(1));
        } else if char.is_whitespace() || char == '\u{feff}' {
            offset += char.len_utf8();
        } else if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            comments.push(Comment { text: rest[..end].trim_end_matches('\r'), line, last_line: line, at });
            offset += end;
        } else if let Some(inside) = rest.strip_prefix("/*") {
            // The beginning of `/*/` does not end it.
            let Some(length) = inside.find("*/") else {
                return Err(GoError::new(line, "the comment is not closed"));
            };
            let written = &rest[..length + 4];
            let last_line = line.saturating_add(lines(written));
            comments.push(Comment { text: written, line, last_line, at });
            if last_line > line && ends_statement(&tokens) {
                tokens.push(offset, Token { kind: Kind::End, line });
            }
            (offset, line) = (offset + written.len(), last_line);
        } else if char == '`' {
            let Some(end) = rest[1..].find('`') else {
                return Err(GoError::new(line, "the string is not closed"));
            };
            let written = &rest[..end + 2];
            tokens.push(offset, Token { kind: Kind::Text(written), line });
            (offset, line) = (offset + written.len(), line.saturating_add(lines(written)));
        } else if char == '"' || char == '\'' {
            let end = quoted(rest, char).ok_or_else(|| GoError::new(line, "the literal is not closed"))?;
            let kind = if char == '"' { Kind::Text(&rest[..end]) } else { Kind::Literal };
            tokens.push(offset, Token { kind, line });
            offset += end;
        } else if char.is_alphabetic() || char == '_' {
            let end = rest.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(rest.len());
            tokens.push(offset, Token { kind: Kind::Name(&rest[..end]), line });
            offset += end;
        } else if char.is_ascii_digit() {
            let end = rest
                .find(|char: char| !(char.is_alphanumeric() || "._".contains(char)))
                .unwrap_or(rest.len());
            tokens.push(offset, Token { kind: Kind::Literal, line });
            offset += end;
        } else {
            let kind = if char == ';' { Kind::End } else { Kind::Mark(char) };
            tokens.push(offset, Token { kind, line });
            offset += char.len_utf8();
        }
    }
    if ends_statement(&tokens) {
        tokens.push(offset, Token { kind: Kind::End, line });
    }
    Ok((tokens, comments))
}

/// Returns whether a statement continues on the next line if this keyword ends a line.
fn is_open_keyword(name: &str) -> bool {
    matches!(
        name,
        "case"
            | "chan"
            | "const"
            | "default"
            | "defer"
            | "else"
            | "for"
            | "func"
            | "go"
            | "goto"
            | "if"
            | "import"
            | "interface"
            | "map"
            | "package"
            | "range"
            | "select"
            | "struct"
            | "switch"
            | "type"
            | "var"
    )
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX)
}

/// Returns the length of a string or rune with its quotes.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (index, char) in text.char_indices().skip(1) {
        match char {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            char if char == quote => return Some(index + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_take_little_memory() {
        assert_eq!(size_of::<Stored>(), 16);
        let (tokens, _) = tokens("a.B = `x`\n").unwrap();
        let kinds: Vec<Kind<'_>> = (0..6).map(|index| tokens.get(index).unwrap().kind).collect();
        let expected = [
            Kind::Name("a"),
            Kind::Mark('.'),
            Kind::Name("B"),
            Kind::Mark('='),
            Kind::Text("`x`"),
            Kind::End,
        ];
        assert_eq!(kinds, expected);
        assert_eq!((tokens.last(), tokens.get(6)), (tokens.get(5), None));
    }
}
