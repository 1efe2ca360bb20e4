//! Parses JSON in strings, such as annotations, with a limit of values: in memory, a small value takes fifty times its size.

use serde::de::{DeserializeOwned, Error as _};

/// The maximum number of values in a JSON text, which takes at most about 250 MB.
pub const MAX_JSON_VALUES: usize = 500_000;

/// Parses a JSON text with at most [`MAX_JSON_VALUES`] values.
///
/// # Errors
/// The text is not valid, or has more values.
pub fn from_str<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    from_slice(text.as_bytes())
}

/// Parses a JSON text with at most [`MAX_JSON_VALUES`] values.
///
/// # Errors
/// As for [`from_str`].
pub fn from_slice<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    from_slice_within(text, MAX_JSON_VALUES)
}

/// Parses a JSON text with at most `limit` values.
///
/// # Errors
/// As for [`from_str`].
pub fn from_slice_within<T: DeserializeOwned>(text: &[u8], limit: usize) -> serde_json::Result<T> {
    // Two bytes are the least that a further value takes.
    if text.len().div_ceil(2) > limit && values(text) > limit {
        return Err(serde_json::Error::custom(format!("more than {limit} values")));
    }
    serde_json::from_slice(text)
}

/// Returns how many values a text has at most: each follows a bracket, a brace or a comma.
fn values(text: &[u8]) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (1, false, false);
    for &byte in text {
        if in_string {
            in_string = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
        } else {
            in_string = byte == b'"';
            count += usize::from(matches!(byte, b'[' | b'{' | b','));
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn number_of_values_has_a_limit_and_that_of_bytes_has_none() {
        let list = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
        assert!(from_slice_within::<Value>(list(100).as_bytes(), 100).is_ok());
        let error = from_slice_within::<Value>(list(101).as_bytes(), 100).unwrap_err();
        assert_eq!(error.to_string(), "more than 100 values");
        let nested = "[".repeat(102) + &"]".repeat(102);
        assert!(
            from_slice_within::<Value>(nested.as_bytes(), 100).unwrap_err().to_string().contains("values")
        );
        let text = format!("[\"{}\\\\\", \"\\\"{}\"]", ",[{".repeat(1000), ",".repeat(1000));
        assert!(from_slice_within::<Value>(text.as_bytes(), 3).is_ok());
    }

    #[test]
    fn small_values_are_counted_before_they_take_memory() {
        for value in ["0,", "{},", "[],", "{\"a\":0},"] {
            let text = format!("[{}0]", value.repeat(10 << 20 >> 1));
            let error = from_str::<Value>(&text).unwrap_err().to_string();
            assert_eq!(error, "more than 500000 values", "{value}");
        }
    }
}
