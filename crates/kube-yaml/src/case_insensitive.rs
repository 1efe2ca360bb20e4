//! Names of fields as Go's `encoding/json` compares them: without regard to case.

use super::tree::Value;

/// Returns whether Go's decoder takes `key` for the field `name`, which is ASCII.
#[must_use]
pub fn is_same_name(key: &str, name: &str) -> bool {
    if key.is_ascii() {
        return key.eq_ignore_ascii_case(name);
    }
    fold(key) == fold(name)
}

/// Returns a key without differences of case.
#[must_use]
pub fn fold(key: &str) -> String {
    let folded = key.chars().flat_map(|char| {
        match char {
            'ſ' => 's',
            '\u{212a}' => 'k',
            _ => char,
        }
        .to_lowercase()
    });
    folded.collect()
}

/// Returns the key and value that count for the field `name` of a map: of several keys that differ in case the last
/// one in the order of their bytes, in which opm passes them on.
fn entry<'a>(value: Value<'a>, name: &str) -> Option<(Value<'a>, Value<'a>)> {
    let found = value.entries().filter(|(key, _)| is_same_name(key.text(), name));
    found.max_by(|(a, _), (b, _)| a.text().cmp(b.text()))
}

/// Returns the value of a field, whatever the case of its key.
#[must_use]
pub fn field<'a>(value: Value<'a>, name: &str) -> Option<Value<'a>> {
    entry(value, name).map(|(_, value)| value)
}

/// Returns the string in a field, whatever the case of its key; empty where there is none.
#[must_use]
pub fn string<'a>(value: Value<'a>, name: &str) -> &'a str {
    field(value, name).and_then(Value::as_str).unwrap_or_default()
}
