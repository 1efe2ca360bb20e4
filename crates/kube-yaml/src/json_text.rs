//! JSON that Go's JSON parser accepts and its YAML parser rejects.
//!
//! Kubernetes' and OLM's loaders parse a text that begins with a brace as JSON first. JSON is YAML except for what strings
//! may contain: surrogate pairs written as two escapes, control characters, bytes that are not UTF-8. These are rewritten
//! here, so that one parser serves both. Lines do not change.
//!
//! Source: `util/yaml/decoder.go` of k8s.io/apimachinery (`YAMLOrJSONDecoder`), `encoding/json` of Go (`unquote`).

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::de::IgnoredAny;

use crate::{Position, is_refused, json_only};

/// Returns the text, with the strings of its first value rewritten for a YAML parser if that value is JSON.
pub(crate) fn for_yaml(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.trim_ascii_start().starts_with(b"{") || !is_special(text) {
        return Cow::Borrowed(text);
    }
    let Some(end) = end_of_value(text) else { return Cow::Borrowed(text) };
    let (value, rest) = text.split_at(end);
    let mut written = rewritten(&String::from_utf8_lossy(value)).into_bytes();
    written.extend_from_slice(rest);
    Cow::Owned(written)
}

/// Returns whether the text's first value is a map in JSON.
pub(crate) fn is_json(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{") && end_of_value(text).is_some()
}

/// Returns the position of a string in a JSON text that YAML parsers reject.
pub(crate) fn not_yaml(text: &[u8]) -> Option<Position> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    Some(Position::behind(&text[..json_only(&text[..end_of_value(text)?])?]))
}

/// Returns where the first value ends, if it is JSON.
fn end_of_value(text: &[u8]) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Returns whether the text contains anything that YAML rejects: an escaped half of a surrogate pair, a control character,
/// or a byte that is not UTF-8.
fn is_special(text: &[u8]) -> bool {
    text.windows(3).any(|escape| matches!(escape, [b'\\', b'u', b'd' | b'D']))
        || std::str::from_utf8(text).map_or(true, |text| text.chars().any(is_refused))
}

fn rewritten(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let (length, decoded) = match char {
            '\\' => match half(rest) {
                Some(high @ 0xd800..=0xdbff) => match half(&rest[6..]) {
                    Some(low @ 0xdc00..=0xdfff) => {
                        (12, char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)))
                    }
                    _ => (6, None),
                },
                Some(0xdc00..=0xdfff) => (6, None),
                // Any other escape; its second character does not begin one.
                _ => {
                    let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                    written.push_str(&rest[..length]);
                    rest = &rest[length..];
                    continue;
                }
            },
            char if is_refused(char) => {
                // Writing to a string cannot fail.
                let _ = write!(written, "\\u{:04x}", u32::from(char));
                rest = &rest[char.len_utf8()..];
                continue;
            }
            char => (char.len_utf8(), Some(char)),
        };
        written.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &rest[length..];
    }
    written
}

/// Returns the code of an escape of four digits.
fn half(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &[u8]) -> Option<serde_json::Value> {
        let parsed = crate::parse(text);
        parsed.error.is_none().then(|| parsed.documents[0].root().get("a").unwrap().to_json())
    }

    #[test]
    fn strings_are_read_as_go_reads_json() {
        let cases: [(&[u8], &str); 8] = [
            (br#"{"a": "\ud83d\ude00"}"#, "\u{1f600}"),
            (br#" {"a":"x\uD83D\uDE00y"}"#, "x\u{1f600}y"),
            (br#"{"a": "\ud83d"}"#, "\u{fffd}"),
            (br#"{"a": "\ude00\ud83d!"}"#, "\u{fffd}\u{fffd}!"),
            (br#"{"a": "\\ud83d"}"#, "\\ud83d"),
            (b"{\"a\": \"\x7f\"}", "\u{7f}"),
            (b"{\"a\": \"\xc2\x80\xef\xbf\xbf\"}", "\u{80}\u{ffff}"),
            (b"{\"a\": \"\xff\"}", "\u{fffd}"),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Some(expected.into()), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn what_is_not_json_is_left_to_yaml() {
        for text in [&br#"a: "\ud83d\ude00""#[..], b"a: \x7f\n", br#"{a: "\ud83d\ude00"}"#, b"{\"a\": \x7f}"]
        {
            assert_eq!(value(text), None, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(value(br#"{a: "\u00e4"}"#), Some("ä".into()));
    }

    #[test]
    fn what_only_json_accepts_has_a_position() {
        let place = |text: &[u8]| not_yaml(text).map(|position| (position.line, position.column));
        assert_eq!(place(b"{\"a\": 1,\n \"b\": \"\xc3\xa4\\/\"}"), Some((2, 9)));
        assert_eq!(place(br#"{"a": "\ud83d\ude00"}"#), Some((1, 8)));
        assert_eq!(place(b"{\"a\": \"\xff\"}"), Some((1, 8)));
        assert_eq!(place(br#"{"a": "\\/ \\ud83d \u00e4"}"#), None);
        assert_eq!(place(b"{\"a\": 1}\n\x7f"), None);
        assert_eq!(place(b"a: \"\\/\""), None);
    }

    #[test]
    fn what_follows_the_value_is_unchanged() {
        assert_eq!(for_yaml(b"{\"a\": \"\x7f\"}\n\x7f").as_ref(), b"{\"a\": \"\\u007f\"}\n\x7f");
    }
}
