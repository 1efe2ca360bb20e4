//! Escape sequences.

use super::error::RegexError;
use super::unicode;

/// A set of characters that has a name: `\d`, `\pL`.
///
/// Returns its translation, to be put within brackets, and what follows; `None` if `rest`, which begins with a
/// backslash, is no such set.
pub(crate) fn set(rest: &str) -> Result<Option<(String, &str)>, RegexError> {
    let mut chars = rest[1..].chars();
    let letter = chars.next();
    let named = match letter {
        Some('d') => "0-9",
        Some('D') => "^0-9",
        Some('s') => r"\t\n\x0c\r ",
        Some('S') => r"^\t\n\x0c\r ",
        Some('w') => "0-9A-Za-z_",
        Some('W') => "^0-9A-Za-z_",
        Some('p' | 'P') => return property(rest, letter == Some('P'), chars.as_str()).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((format!("[{named}]"), chars.as_str())))
}

fn property<'t>(whole: &'t str, negated: bool, rest: &'t str) -> Result<(String, &'t str), RegexError> {
    let unknown = |end: usize| RegexError::CharacterRange(whole.get(..end).unwrap_or(whole).to_owned());
    let Some(first) = rest.chars().next() else { return Err(unknown(whole.len())) };
    let (name, after) = if first == '{' {
        let end = rest.find('}').ok_or_else(|| unknown(whole.len()))?;
        (&rest[1..end], &rest[end + 1..])
    } else {
        rest.split_at(first.len_utf8())
    };
    let (name, negated) = name.strip_prefix('^').map_or((name, negated), |name| (name, !negated));
    let table = unicode::table(name).ok_or_else(|| unknown(whole.len() - after.len()))?;
    // Surrogates cannot stand in a text here: an empty set.
    let set = match (table.as_str(), negated) {
        ("Cs", false) => r"[^\x{0}-\x{10FFFF}]".to_owned(),
        ("Cs", true) => r"[\x{0}-\x{10FFFF}]".to_owned(),
        ("LC", _) => format!("[{}\\p{{Lu}}\\p{{Ll}}\\p{{Lt}}]", if negated { "^" } else { "" }),
        (table, _) => format!("\\{}{{{table}}}", if negated { 'P' } else { 'p' }),
    };
    Ok((set, after))
}

/// One character, escaped; `rest` begins with the backslash. The character is a number because Go lets it be a
/// surrogate, which Rust's characters cannot be.
pub(crate) fn character(rest: &str) -> Result<(u32, &str), RegexError> {
    let mut chars = rest[1..].chars();
    let Some(first) = chars.next() else { return Err(RegexError::TrailingBackslash) };
    let after = chars.as_str();
    let code = match first {
        '1'..='7' if !after.starts_with(|c: char| c.is_digit(8)) => None,
        '0'..='7' => {
            let more = after.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let digits = &rest[1..2 + more];
            return u32::from_str_radix(digits, 8)
                .map(|code| (code, &after[more..]))
                .map_err(|_| RegexError::Escape(rest[..2 + more].to_owned()));
        }
        'x' => return hexadecimal(rest, after),
        'a' => Some(7),
        'f' => Some(12),
        'n' => Some(10),
        'r' => Some(13),
        't' => Some(9),
        'v' => Some(11),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
        _ => None,
    };
    match code {
        Some(code) => Ok((code, after)),
        None => Err(RegexError::Escape(rest[..=first.len_utf8()].to_owned())),
    }
}

fn hexadecimal<'t>(whole: &str, rest: &'t str) -> Result<(u32, &'t str), RegexError> {
    let wrong = || RegexError::Escape(whole.chars().take(12).collect());
    let (digits, after) = if let Some(braced) = rest.strip_prefix('{') {
        braced.split_once('}').ok_or_else(wrong)?
    } else {
        (rest.get(..2).ok_or_else(wrong)?, &rest[2..])
    };
    let is_valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits.trim_start_matches('0'), 16);
    match code {
        Ok(code) if is_valid && code <= 0x10_FFFF => Ok((code, after)),
        Err(_) if is_valid && digits.bytes().all(|byte| byte == b'0') => Ok((0, after)),
        _ => Err(wrong()),
    }
}
