//! Writes JSON exactly as Go's `encoding/json` does: sorted keys, `<`, `>` and `&` escaped, floats in the same form.
//!
//! Catalogs and CSVs embed JSON that `opm` and operator-sdk write; the same input gives the same bytes here.
//!
//! Source: `encodeState.string` and `floatEncoder` of Go's `encoding/json`.

use std::fmt::Write as _;
use std::io;

use serde::Serialize;
use serde_json::Value as Json;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Returns `value` as Go's `json.Marshal` writes it.
#[must_use]
pub fn compact(value: &Json) -> String {
    let mut out = String::new();
    write(value, Form::default(), &mut out);
    out
}

/// Returns `value` as Go's `json.MarshalIndent` writes it, with two spaces a level.
#[must_use]
pub fn pretty(value: &Json) -> String {
    let mut out = String::new();
    write(value, Form { depth: Some(0), ..Form::default() }, &mut out);
    out
}

/// Returns `value` as Go writes it after decoding it without a type: every number has become a float.
///
/// `<`, `>` and `&` are escaped if `escape_html` is set, as `json.Marshal` does it and an encoder need not.
#[must_use]
pub fn reencoded(value: &Json, escape_html: bool) -> String {
    let mut out = String::new();
    write(value, Form { depth: None, escape_html, floats_only: true }, &mut out);
    out
}

/// Writes a value with its fields in their order, `indent` for each level, and floats as Go writes them. `<`, `>` and `&` are not
/// escaped, as `opm` has it.
///
/// # Errors
/// The value cannot be written as JSON, or `out` cannot be written to.
pub fn write_in_order_with(value: &impl Serialize, indent: &str, out: impl io::Write) -> io::Result<()> {
    let formatter = InOrder(PrettyFormatter::with_indent(indent.as_bytes()));
    Ok(value.serialize(&mut Serializer::with_formatter(out, formatter))?)
}

/// serde's indented form, with floats as Go writes them.
struct InOrder<'i>(PrettyFormatter<'i>);

impl Formatter for InOrder<'_> {
    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        let mut text = String::new();
        push_float(value, &mut text);
        out.write_all(text.as_bytes())
    }

    /// Escapes the separators of lines and paragraphs, as Go does: YAML takes them for line breaks.
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        // Both begin with this byte.
        while memchr::memchr(0xe2, rest.as_bytes()).is_some() {
            let Some(at) = rest.find(['\u{2028}', '\u{2029}']) else { break };
            let (before, from) = rest.split_at(at);
            let (separator, after) = from.split_at('\u{2028}'.len_utf8());
            out.write_all(before.as_bytes())?;
            out.write_all(if separator == "\u{2028}" { b"\\u2028" } else { b"\\u2029" })?;
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

/// Appends a string as Go's `json.Marshal` writes it.
pub fn push_string(string: &str, out: &mut String) {
    write_string(string, true, out);
}

/// How values are written.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// The depth of the line that the value begins on; nothing for the compact form.
    depth: Option<usize>,
    escape_html: bool,
    floats_only: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self { depth: None, escape_html: true, floats_only: false }
    }
}

fn write(value: &Json, form: Form, out: &mut String) {
    let depth = form.depth;
    let below = Form { depth: depth.map(|depth| depth + 1), ..form };
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => write_number(number, form.floats_only, out),
        Json::String(string) => write_string(string, form.escape_html, out),
        Json::Array(items) if items.is_empty() => out.push_str("[]"),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                begin_item(index, below.depth, out);
                write(item, below, out);
            }
            line_break(depth, out);
            out.push(']');
        }
        Json::Object(map) if map.is_empty() => out.push_str("{}"),
        Json::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                begin_item(index, below.depth, out);
                write_string(key, form.escape_html, out);
                out.push_str(if below.depth.is_some() { ": " } else { ":" });
                write(value, below, out);
            }
            line_break(depth, out);
            out.push('}');
        }
    }
}

fn begin_item(index: usize, depth: Option<usize>, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
    line_break(depth, out);
}

fn line_break(depth: Option<usize>, out: &mut String) {
    if let Some(depth) = depth {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

fn write_number(number: &serde_json::Number, is_float: bool, out: &mut String) {
    match number.as_f64().filter(|_| is_float || number.is_f64()) {
        Some(float) => push_float(float, out),
        // Writing to a string cannot fail.
        None => {
            let _ = write!(out, "{number}");
        }
    }
}

/// Appends plain digits from 1e-6 and below 1e21, and an exponent with its sign elsewhere. Writing to a string cannot fail.
fn push_float(float: f64, out: &mut String) {
    let _ = if float == 0.0 || (1e-6..1e21).contains(&float.abs()) {
        write!(out, "{float}")
    } else {
        let text = format!("{float:e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) if !exponent.starts_with('-') => {
                write!(out, "{mantissa}e+{exponent}")
            }
            _ => write!(out, "{text}"),
        }
    };
}

fn write_string(string: &str, escape_html: bool, out: &mut String) {
    out.push('"');
    let mut rest = string;
    while let Some(length) = rest.bytes().position(may_be_escaped) {
        let (plain, special) = rest.split_at(length);
        out.push_str(plain);
        let mut characters = special.chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\u{c}') => out.push_str("\\f"),
            Some(character @ ('<' | '>' | '&')) if !escape_html => out.push(character),
            Some(character @ ('<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}')) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.extend(other),
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Returns whether a character that starts with this byte may be escaped: U+2028 and U+2029 start with 0xE2.
fn may_be_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | 0..=0x1f | 0xe2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn separators_of_lines_and_paragraphs_are_escaped_as_in_go() {
        let mut out = Vec::new();
        write_in_order_with(&"a\u{2028}\u{2029}\u{20ac}b\n", "  ", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\u2028\\u2029\u{20ac}b\\n\"");
    }

    #[test]
    fn the_compact_form_is_that_of_go() {
        assert_eq!(
            compact(&json!({"b": "<a & b>", "a": [1, 1.5, null, [], {}]})),
            r#"{"a":[1,1.5,null,[],{}],"b":"\u003ca \u0026 b\u003e"}"#
        );
        assert_eq!(compact(&json!("\u{1}\u{2028}é\u{7f}\u{8}")), "\"\\u0001\\u2028é\u{7f}\\b\"");
        assert_eq!(compact(&json!("a\u{2029}…→b\"\\c\n")), "\"a\\u2029…→b\\\"\\\\c\\n\"");
    }

    #[test]
    fn in_order_fields_stay_and_floats_are_those_of_go() {
        let value = json!({"b": ["<&>", 2e-6, 1e21, 1.0], "a": {"x": 3, "y": []}});
        let mut out = Vec::new();
        write_in_order_with(&value, "  ", &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "{\n  \"b\": [\n    \"<&>\",\n    0.000002,\n    1e+21,\n    1\n  ],\n  \"a\": {\n    \"x\": 3,\n    \"y\": []\n  }\n}"
        );
    }

    #[test]
    fn decoded_without_a_type_numbers_are_floats() {
        let value = json!({"b": "<&>", "a": [1, 9_007_199_254_740_993_u64, 1e21, -0.5, u64::MAX]});
        assert_eq!(
            reencoded(&value, false),
            r#"{"a":[1,9007199254740992,1e+21,-0.5,18446744073709552000],"b":"<&>"}"#
        );
        assert_eq!(reencoded(&json!("<"), true), r#""\u003c""#);
    }

    #[test]
    fn the_indented_form_is_that_of_go() {
        let value = json!([{"b": [], "a": {"x": "<1 & 2>\n"}}]);
        assert_eq!(
            pretty(&value),
            "[\n  {\n    \"a\": {\n      \"x\": \"\\u003c1 \\u0026 2\\u003e\\n\"\n    },\n    \"b\": []\n  }\n]"
        );
        assert_eq!(pretty(&json!([])), "[]");
        assert_eq!(pretty(&json!(2e-6)), "0.000002");
    }

    #[test]
    fn floats_have_an_exponent_below_1e_minus_6_and_from_1e21() {
        for (float, text) in [
            (0.000_002, "0.000002"),
            (0.000_001, "0.000001"),
            (9e-7, "9e-7"),
            (1e-7, "1e-7"),
            (-1.5e-10, "-1.5e-10"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1.0, "1"),
            (0.1, "0.1"),
            (0.0, "0"),
            (-0.0, "-0"),
        ] {
            assert_eq!(compact(&json!(float)), text);
        }
        assert_eq!(compact(&json!([u64::MAX, i64::MIN])), "[18446744073709551615,-9223372036854775808]");
    }
}
