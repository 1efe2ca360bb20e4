//! Splits source text into tokens: the longest match of CEL's grammar. Text without a token is rejected.

use super::ast::Fault;

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ident,
    EscapedIdent,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    True,
    False,
    Null,
    In,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Not,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    End,
}

/// One token: its kind and its bytes in the source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Returns all tokens of `source`, ending with [`Kind::End`]. If `escapes` is set, names may be quoted with backticks.
///
/// # Errors
/// The first invalid character, or the first string that is not terminated or has an invalid escape sequence.
pub(crate) fn tokens(source: &str, escapes: bool) -> Result<Vec<Token>, Fault> {
    let bytes = source.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() / 3 + 1);
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let next = bytes.get(at + 1).copied();
        let kind = match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0c => {
                at += 1;
                continue;
            }
            b'/' if next == Some(b'/') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'"' | b'\'' => {
                at = string_end(source, at, false)?;
                Kind::String
            }
            b'0'..=b'9' => {
                let (kind, end) = number(bytes, at);
                at = end;
                kind
            }
            b'.' if next.is_some_and(|b| b.is_ascii_digit()) => {
                at = exponent(bytes, digits(bytes, at + 1));
                Kind::Double
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let (kind, end) = word(source, at)?;
                at = end;
                kind
            }
            b'`' if escapes => {
                let inside = bytes[at + 1..].iter().take_while(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/' | b' ')
                });
                let end = at + 1 + inside.count();
                if end == at + 1 || bytes.get(end) != Some(&b'`') {
                    return Err(Fault::new(offset(at), "unterminated escaped name"));
                }
                at = end + 1;
                Kind::EscapedIdent
            }
            other => {
                let (kind, length) = operator(other, next).ok_or_else(|| unknown(source, start))?;
                at += length;
                kind
            }
        };
        out.push(Token { kind, start: offset(start), end: offset(at) });
    }
    out.push(Token { kind: Kind::End, start: offset(at), end: offset(at) });
    Ok(out)
}

/// Expressions are far smaller than 4 GiB: their length is checked before they come here.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn unknown(source: &str, at: usize) -> Fault {
    let found = source[at..].chars().next().unwrap_or(' ');
    let hint = match found {
        '&' => ": use `&&`",
        '|' => ": use `||`",
        '=' => ": use `==`",
        '`' => ": escaped names are not enabled in Kubernetes",
        _ => "",
    };
    Fault::new(offset(at), format!("unexpected character `{}`{hint}", found.escape_debug()))
}

fn operator(byte: u8, next: Option<u8>) -> Option<(Kind, usize)> {
    Some(match (byte, next) {
        (b'=', Some(b'=')) => (Kind::Equal, 2),
        (b'!', Some(b'=')) => (Kind::NotEqual, 2),
        (b'<', Some(b'=')) => (Kind::LessEqual, 2),
        (b'>', Some(b'=')) => (Kind::GreaterEqual, 2),
        (b'&', Some(b'&')) => (Kind::And, 2),
        (b'|', Some(b'|')) => (Kind::Or, 2),
        (b'<', _) => (Kind::Less, 1),
        (b'>', _) => (Kind::Greater, 1),
        (b'[', _) => (Kind::LeftBracket, 1),
        (b']', _) => (Kind::RightBracket, 1),
        (b'{', _) => (Kind::LeftBrace, 1),
        (b'}', _) => (Kind::RightBrace, 1),
        (b'(', _) => (Kind::LeftParen, 1),
        (b')', _) => (Kind::RightParen, 1),
        (b'.', _) => (Kind::Dot, 1),
        (b',', _) => (Kind::Comma, 1),
        (b'-', _) => (Kind::Minus, 1),
        (b'!', _) => (Kind::Not, 1),
        (b'?', _) => (Kind::Question, 1),
        (b':', _) => (Kind::Colon, 1),
        (b'+', _) => (Kind::Plus, 1),
        (b'*', _) => (Kind::Star, 1),
        (b'/', _) => (Kind::Slash, 1),
        (b'%', _) => (Kind::Percent, 1),
        _ => return None,
    })
}

/// An identifier, a keyword, or a string with a prefix (`r`, `b`, `br`).
fn word(source: &str, start: usize) -> Result<(Kind, usize), Fault> {
    let bytes = source.as_bytes();
    let quote = |at: usize| matches!(bytes.get(at), Some(b'"' | b'\''));
    match bytes[start] {
        b'r' | b'R' if quote(start + 1) => return Ok((Kind::String, string_end(source, start + 1, true)?)),
        b'b' | b'B' if quote(start + 1) => return Ok((Kind::Bytes, string_end(source, start + 1, false)?)),
        b'b' | b'B' if matches!(bytes.get(start + 1), Some(b'r' | b'R')) && quote(start + 2) => {
            return Ok((Kind::Bytes, string_end(source, start + 2, true)?));
        }
        _ => {}
    }
    let mut end = start + 1;
    while bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        end += 1;
    }
    let kind = match &source[start..end] {
        "in" => Kind::In,
        "true" => Kind::True,
        "false" => Kind::False,
        "null" => Kind::Null,
        _ => Kind::Ident,
    };
    Ok((kind, end))
}

fn digits(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Returns the end of the exponent at `at`, or `at` itself if there is none.
fn exponent(bytes: &[u8], at: usize) -> usize {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return at;
    }
    let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
    let from = at + 1 + sign;
    let end = digits(bytes, from);
    if end > from { end } else { at }
}

fn number(bytes: &[u8], start: usize) -> (Kind, usize) {
    let unsigned = |at: usize| matches!(bytes.get(at), Some(b'u' | b'U'));
    if bytes[start] == b'0' && bytes.get(start + 1) == Some(&b'x') {
        let mut end = start + 2;
        while bytes.get(end).is_some_and(u8::is_ascii_hexdigit) {
            end += 1;
        }
        if end > start + 2 {
            return if unsigned(end) { (Kind::Uint, end + 1) } else { (Kind::Int, end) };
        }
    }
    let whole = digits(bytes, start);
    if bytes.get(whole) == Some(&b'.') && bytes.get(whole + 1).is_some_and(u8::is_ascii_digit) {
        return (Kind::Double, exponent(bytes, digits(bytes, whole + 1)));
    }
    let end = exponent(bytes, whole);
    if end > whole {
        (Kind::Double, end)
    } else if unsigned(whole) {
        (Kind::Uint, whole + 1)
    } else {
        (Kind::Int, whole)
    }
}

/// The end of the string whose opening quote is at `open`.
fn string_end(source: &str, open: usize, raw: bool) -> Result<usize, Fault> {
    let bytes = source.as_bytes();
    let quote = bytes[open];
    let triple = bytes.get(open + 1) == Some(&quote) && bytes.get(open + 2) == Some(&quote);
    let mut at = if triple { open + 3 } else { open + 1 };
    loop {
        match bytes.get(at) {
            None => break,
            Some(b'\n' | b'\r') if !triple => break,
            Some(b'\\') if !raw => {
                let length = escape_length(&bytes[at + 1..]).ok_or_else(|| {
                    Fault::new(
                        offset(at),
                        "unknown escape sequence: use `\\\\` for a backslash, or a raw string `r'…'`",
                    )
                })?;
                at += 1 + length;
            }
            Some(byte) if *byte == quote => {
                if !triple {
                    return Ok(at + 1);
                }
                if bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote) {
                    return Ok(at + 3);
                }
                at += 1;
            }
            Some(_) => at += 1,
        }
    }
    if triple && !raw {
        // Without its end, three quotes are an empty string beside another string: refused too.
        return Err(Fault::new(offset(open), "unterminated string: missing three quotes"));
    }
    Err(Fault::new(offset(open), "unterminated string"))
}

/// How many bytes after the backslash belong to the escape sequence.
fn escape_length(rest: &[u8]) -> Option<usize> {
    let hex = |count: usize| {
        (rest.len() > count && rest[1..=count].iter().all(u8::is_ascii_hexdigit)).then_some(count + 1)
    };
    match rest.first()? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Some(1),
        b'x' | b'X' => hex(2),
        b'u' => hex(4),
        b'U' => hex(8),
        b'0'..=b'3' => (rest.len() > 2 && rest[1..3].iter().all(|b| (b'0'..=b'7').contains(b))).then_some(3),
        _ => None,
    }
}
