//! Makes text of users and servers fit for messages and addresses: on one line, escaped and short.

use std::fmt::Write as _;

/// Maximum number of characters of foreign text in one message.
pub(crate) const MAX_TEXT: usize = 300;

/// Returns `text` with whitespace collapsed, and characters escaped that change how a terminal shows what follows.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len().min(4 * MAX_TEXT));
    for word in text.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty()) {
        if !escaped.is_empty() {
            escaped.push(' ');
        }
        for c in word.chars() {
            if c.is_control() || is_formatting(c) {
                // Writing into a string cannot fail.
                let _ = write!(escaped, "{}", c.escape_unicode());
            } else {
                escaped.push(c);
            }
        }
        if escaped.len() > 4 * MAX_TEXT {
            break;
        }
    }
    escaped
}

/// True for characters that are invisible, break lines or change the direction of what follows.
fn is_formatting(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the beginning of `text`, with a mark if something is cut off.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns `text` as a value of a query (RFC 3986).
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_shortened() {
        let clean = |text: &str| shorten(&escape(text));
        let text = "a\u{1b}[31m\r\nerror: forged \u{7f}\u{0}\u{9b}\u{202e}";
        assert_eq!(clean(text), r"a\u{1b}[31m error: forged \u{7f}\u{0}\u{9b}\u{202e}");
        let text = clean(&"ä".repeat(1_000_000));
        assert_eq!((text.chars().count(), text.chars().last()), (MAX_TEXT + 1, Some('…')));
    }
}
