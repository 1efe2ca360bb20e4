//! The text of a literal into its value: escapes in strings and bytes, ranges of numbers.

use super::ast::Literal;

/// A string token (quotes, and `r` if it has one, included) into its value.
pub(crate) fn string(token: &str) -> Result<String, &'static str> {
    let (body, raw) = body(token);
    if raw || !body.contains('\\') {
        return Ok(body);
    }
    let mut out = String::with_capacity(body.len());
    let mut rest = body.as_str();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (value, _, length) = escape(&rest[at + 1..]).ok_or("invalid escape sequence")?;
        out.push(char::from_u32(value).ok_or("escape sequence is not a Unicode character")?);
        rest = &rest[at + 1 + length..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A bytes token (`b`, quotes, and `r` if it has one, included) into its value.
pub(crate) fn bytes(token: &str) -> Result<Vec<u8>, &'static str> {
    let (body, raw) = body(&token[1..]);
    if raw || !body.contains('\\') {
        return Ok(body.into_bytes());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body.as_str();
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let (value, unicode, length) = escape(&rest[at + 1..]).ok_or("invalid escape sequence")?;
        if unicode {
            return Err("`\\u` and `\\U` are not supported in bytes literals");
        }
        out.push(u8::try_from(value).map_err(|_| "escape sequence is not a byte")?);
        rest = &rest[at + 1 + length..];
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// What is between the quotes, with line ends made `\n`, and whether the string is raw.
fn body(token: &str) -> (String, bool) {
    let (token, raw) = match token.strip_prefix(['r', 'R']) {
        Some(rest) => (rest, true),
        None => (token, false),
    };
    let quotes =
        if token.len() >= 6 && (token.starts_with("\"\"\"") || token.starts_with("'''")) { 3 } else { 1 };
    let inner = &token[quotes..token.len() - quotes];
    let inner =
        if inner.contains('\r') { inner.replace("\r\n", "\n").replace('\r', "\n") } else { inner.to_owned() };
    (inner, raw)
}

/// The value after a backslash, whether it was written as a code point, and its length in bytes.
fn escape(rest: &str) -> Option<(u32, bool, usize)> {
    let number = |from: usize, to: usize, radix: u32| u32::from_str_radix(rest.get(from..to)?, radix).ok();
    Some(match rest.bytes().next()? {
        b'a' => (7, false, 1),
        b'b' => (8, false, 1),
        b'f' => (12, false, 1),
        b'n' => (10, false, 1),
        b'r' => (13, false, 1),
        b't' => (9, false, 1),
        b'v' => (11, false, 1),
        byte @ (b'\\' | b'\'' | b'"' | b'`' | b'?') => (u32::from(byte), false, 1),
        b'x' | b'X' => (number(1, 3, 16)?, false, 3),
        b'u' => (number(1, 5, 16)?, true, 5),
        b'U' => (number(1, 9, 16)?, true, 9),
        b'0'..=b'3' => (number(0, 3, 8)?, false, 3),
        _ => return None,
    })
}

/// An integer token, negative where a minus sign belongs to it.
pub(crate) fn int(token: &str, negative: bool) -> Option<Literal> {
    let (digits, radix) = token.strip_prefix("0x").map_or((token, 10), |hex| (hex, 16));
    let text = if negative { format!("-{digits}") } else { digits.to_owned() };
    i64::from_str_radix(&text, radix).ok().map(Literal::Int)
}

/// An unsigned integer token, its `u` included.
pub(crate) fn uint(token: &str) -> Option<Literal> {
    let token = &token[..token.len() - 1];
    let (digits, radix) = token.strip_prefix("0x").map_or((token, 10), |hex| (hex, 16));
    u64::from_str_radix(digits, radix).ok().map(Literal::Uint)
}

/// A floating point token. A number that does not fit into 64 bits is rejected, as in Go.
pub(crate) fn double(token: &str, negative: bool) -> Option<Literal> {
    let value: f64 = token.parse().ok()?;
    value.is_finite().then_some(Literal::Double(if negative { -value } else { value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_replaced() {
        assert_eq!(string(r#""a\tb\x41\u00e9\101""#).unwrap(), "a\tbAéA");
        assert_eq!(string(r"r'\d'").unwrap(), r"\d");
        assert_eq!(string("'''a\r\n\"b'''").unwrap(), "a\n\"b");
        assert!(string(r"'\ud800'").is_err(), "a surrogate is not a character");
        assert_eq!(bytes(r"b'\xff\377a'").unwrap(), [0xff, 0xff, b'a']);
        assert!(bytes(r"b'\u0041'").is_err());
    }

    #[test]
    fn numbers_outside_of_their_range_are_rejected() {
        assert_eq!(int("9223372036854775808", true), Some(Literal::Int(i64::MIN)));
        assert_eq!(int("9223372036854775808", false), None);
        assert_eq!(int("0x7fffffffffffffff", false), Some(Literal::Int(i64::MAX)));
        assert_eq!(uint("0xffffffffffffffffu"), Some(Literal::Uint(u64::MAX)));
        assert_eq!(double("1e999", false), None);
    }
}
