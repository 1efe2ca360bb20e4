//! Character classes: `[a-z[:alpha:]\d]`.

use std::fmt::Write as _;

use super::error::RegexError;
use super::escape;

const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Reads the class that `rest` begins with; returns its translation and what follows.
pub(crate) fn class(rest: &str) -> Result<(String, &str), RegexError> {
    let mut here = &rest[1..];
    let mut translated = String::from("[");
    if let Some(after) = here.strip_prefix('^') {
        translated.push('^');
        here = after;
    }
    let mut first = true;
    let mut empty = true;
    let missing = || RegexError::MissingBracket(rest.to_owned());
    while first || !here.starts_with(']') {
        first = false;
        if let Some((name, after)) = posix(here)? {
            translated.push_str(&name);
            here = after;
            empty = false;
            continue;
        }
        if here.starts_with('\\')
            && let Some((set, after)) = escape::set(here)?
        {
            translated.push_str(&set);
            here = after;
            empty = false;
            continue;
        }
        let range = here;
        let (low, after) = character(here).ok_or_else(missing)??;
        here = after;
        let mut high = low;
        if here.len() >= 2
            && let Some(after) = here.strip_prefix('-')
            && !after.starts_with(']')
        {
            let (end, after) = character(after).ok_or_else(missing)??;
            high = end;
            here = after;
            if high < low {
                return Err(RegexError::CharacterRange(range[..range.len() - here.len()].to_owned()));
            }
        }
        empty &= !push_range(&mut translated, low, high);
        if here.is_empty() {
            return Err(missing());
        }
    }
    if empty {
        // Only surrogates, which no text here can hold.
        let all = translated.starts_with("[^");
        let set = if all { r"[\x{0}-\x{10FFFF}]" } else { r"[^\x{0}-\x{10FFFF}]" };
        set.clone_into(&mut translated);
    } else {
        translated.push(']');
    }
    Ok((translated, &here[1..]))
}

/// `[:alpha:]`, `[:^digit:]`.
fn posix(rest: &str) -> Result<Option<(String, &str)>, RegexError> {
    let Some(inner) = rest.strip_prefix("[:") else { return Ok(None) };
    let Some(end) = inner.find(":]") else { return Ok(None) };
    let name = &inner[..end];
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(RegexError::CharacterRange(format!("[:{name}:]")));
    }
    Ok(Some((format!("[:{name}:]"), &inner[end + 2..])))
}

/// Returns the next character; `None` at the end of the expression.
fn character(rest: &str) -> Option<Result<(u32, &str), RegexError>> {
    let mut chars = rest.chars();
    let first = chars.next()?;
    Some(if first == '\\' { escape::character(rest) } else { Ok((u32::from(first), chars.as_str())) })
}

/// Writes a range without the surrogates; whether anything is left of it.
fn push_range(translated: &mut String, low: u32, high: u32) -> bool {
    let low = if (0xD800..=0xDFFF).contains(&low) { 0xE000 } else { low };
    let high = if (0xD800..=0xDFFF).contains(&high) { 0xD7FF } else { high };
    if low > high {
        return false;
    }
    // Writing into a string cannot fail.
    let _ = write!(translated, "\\x{{{low:X}}}-\\x{{{high:X}}}");
    true
}
