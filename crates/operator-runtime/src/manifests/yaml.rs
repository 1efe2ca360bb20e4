//! Kubernetes objects as YAML: the same object gives the same bytes.

use super::error::Error;
use serde::Serialize;
use serde_json::Value;

/// Writes one document, without a leading `---`.
///
/// JSON schema numbers are floating point in the API types; integral ones are written as integers.
///
/// # Errors
/// When the object cannot be converted to YAML, which does not happen to Kubernetes objects.
pub fn document(object: &impl Serialize) -> Result<String, Error> {
    let mut value = serde_json::to_value(object)?;
    whole_numbers(&mut value);
    // Long strings stay on one line: folded ones are harder to compare and to search.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 1_000_000 };
    Ok(serde_saphyr::to_string_with_options(&value, options)?)
}

#[allow(clippy::cast_possible_truncation)]
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) =
                number.as_f64().filter(|f| number.is_f64() && f.fract() == 0.0 && f.abs() < 1e15)
            {
                *number = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integral_floats_become_integers_and_strings_that_look_like_numbers_stay_strings() {
        let text =
            document(&serde_json::json!({"max": 5.0, "half": 0.5, "version": "1.6", "on": "yes"})).unwrap();
        assert_eq!(text, "max: 5\nhalf: 0.5\nversion: \"1.6\"\n\"on\": \"yes\"\n");
    }
}
