//! JSON as Go's `encoding/json` writes it: keys sorted, `<`, `>` and `&` escaped. Catalogues embed objects in that
//! form, so that the same bundle gives the same bytes as from `opm`.

use std::fmt::Write as _;

use serde_json::Value as Json;

/// `value` in Go's compact form.
pub(super) fn encode(value: &Json) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Json, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float_into(float, out),
            _ => {
                let _ = write!(out, "{number}");
            }
        },
        Json::String(text) => string(text, out),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                string(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// Plain digits between 1e-6 and 1e21, an exponent with its sign elsewhere.
fn float_into(float: f64, out: &mut String) {
    let magnitude = float.abs();
    let _ = if float != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{float:e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) if !exponent.starts_with('-') => write!(out, "{mantissa}e+{exponent}"),
            _ => write!(out, "{text}"),
        }
    } else {
        write!(out, "{float}")
    };
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_are_those_of_go() {
        assert_eq!(
            encode(&json!({"b": "<a & b>", "a": [1, 1.5, null]})),
            r#"{"a":[1,1.5,null],"b":"\u003ca \u0026 b\u003e"}"#
        );
        assert_eq!(encode(&json!([1e21, 1e-7, 0.1, 1e20])), "[1e+21,1e-7,0.1,100000000000000000000]");
        assert_eq!(encode(&json!("\u{1}\u{2028}é")), "\"\\u0001\\u2028é\"");
    }
}
