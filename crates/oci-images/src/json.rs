//! Errors of JSON in plain words: without the names of types, and without what only a parser expects.

use crate::message::{escape, shorten};

/// Returns what an error of JSON says, on one line: with the types of JSON instead of those of serde and Rust, and without values of
/// other types.
pub(crate) fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if error.is_syntax() || error.is_eof() {
        let what = if text.starts_with("recursion limit") { "nested too deeply" } else { "invalid JSON" };
        return format!("{what} at line {}, column {}", error.line(), error.column());
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let (text, place) = match text.strip_suffix(&place) {
        Some(text) => (text, format!(" at line {}, column {}", error.line(), error.column())),
        None => (text.as_str(), String::new()),
    };
    let types = text.strip_prefix("invalid type: ").and_then(|types| types.rsplit_once(", expected "));
    let value =
        text.strip_prefix("invalid value: integer ").and_then(|value| value.split_once(", expected "));
    let text = match (types, value) {
        (Some((found, expected)), _) => {
            format!("expected {}, found {}", json_type(expected), json_type(found))
        }
        (None, Some((found, expected))) => format!("expected {}, found {found}", json_type(expected)),
        (None, None) => text.replacen("missing field", "missing required field", 1),
    };
    shorten(&escape(&text)) + &place
}

/// Returns the type of JSON that serde describes.
fn json_type(text: &str) -> &str {
    const TYPES: [(&str, &str); 13] = [
        ("a sequence", "a list"),
        ("sequence", "a list"),
        ("map", "a map"),
        ("struct ", "a map"),
        ("internally tagged enum ", "a map"),
        ("string", "a string"),
        ("integer", "a number"),
        ("floating point", "a number"),
        ("boolean", "a boolean"),
        ("u32", "a number that is not negative"),
        ("u64", "a number that is not negative"),
        ("i32", "a number"),
        ("i64", "a number"),
    ];
    TYPES.iter().find(|(serde, _)| text.starts_with(serde)).map_or(text, |(_, json)| json)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn terms_of_the_parser_are_replaced() {
        #[derive(Debug, Deserialize)]
        struct Entry {
            #[serde(rename = "name")]
            _name: String,
        }
        for (text, expected) in [
            ("x", "invalid JSON at line 1, column 1"),
            ("", "invalid JSON at line 1, column 0"),
            ("{\n\"name\" 1}", "invalid JSON at line 2, column 8"),
            ("{} {}", "missing required field `name` at line 1, column 2"),
            ("\"x\"", "expected a map, found a string at line 1, column 3"),
            ("{\"name\": []}", "expected a string, found a list at line 1, column 9"),
        ] {
            assert_eq!(json_error(&serde_json::from_str::<Entry>(text).unwrap_err()), expected, "{text}");
        }
        let deep = serde_json::from_str::<serde_json::Value>(&"[".repeat(1000)).unwrap_err();
        assert_eq!(json_error(&deep), "nested too deeply at line 1, column 128");
    }
}
