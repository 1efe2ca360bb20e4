//! Ports, percentages, file modes, user and group ids.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/validation.go`, `k8s.io/kubernetes/pkg/apis/apps/validation`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Errors, names};
use crate::model::yaml::Path;

/// A port's number, from 1 to 65535.
pub(in crate::rules) fn port(value: impl Into<i64>) -> Result<(), String> {
    let value = value.into();
    if (1..=65535).contains(&value) { Ok(()) } else { Err(format!("{value} is no port: from 1 to 65535")) }
}

/// A port's number or name.
pub(in crate::rules) fn port_or_name(value: &IntOrString) -> Result<(), String> {
    match value {
        IntOrString::Int(number) => port(*number),
        IntOrString::String(name) => names::port_name(name),
    }
}

/// A user's or group's id, from 0 to 2147483647.
pub(in crate::rules) fn identity(value: i64) -> Result<(), String> {
    if (0..=i64::from(i32::MAX)).contains(&value) {
        Ok(())
    } else {
        Err(format!("{value} is no id: from 0 to 2147483647"))
    }
}

/// A file's mode, from 0 to 0777.
pub(in crate::rules) fn file_mode(value: Option<i32>) -> Result<(), String> {
    match value {
        Some(mode) if !(0..=0o777).contains(&mode) => {
            Err(format!("{mode} is no file mode: from 0 to 0777, which is 511 in decimal"))
        }
        _ => Ok(()),
    }
}

/// A count or a percentage: not negative, digits before the `%`.
pub(in crate::rules) fn count_or_percentage(
    value: &IntOrString,
    path: &Path<'_>,
    errors: &mut Errors<'_, '_>,
) {
    match value {
        IntOrString::Int(count) => errors.not_negative(path, *count),
        IntOrString::String(text) if percentage(text).is_none() => {
            errors.add(path, format!("{} is no percentage such as '25%'", names::shown(text)));
        }
        IntOrString::String(_) => {}
    }
}

/// Reports a percentage above 100.
pub(in crate::rules) fn at_most_everything(
    value: &IntOrString,
    path: &Path<'_>,
    errors: &mut Errors<'_, '_>,
) {
    if let IntOrString::String(text) = value
        && percentage(text).is_some_and(|value| value > 100)
    {
        errors.add(path, format!("'{text}' is more than 100%"));
    }
}

/// Whether the value is 0 or `0%`, or is nothing that can be read as a number.
pub(in crate::rules) fn is_nothing(value: &IntOrString) -> bool {
    match value {
        IntOrString::Int(count) => *count == 0,
        IntOrString::String(text) => match percentage(text) {
            Some(value) => value == 0,
            // What is no percentage is read as a plain number, which fails or gives the number.
            None => text.parse::<i64>().unwrap_or(0) == 0,
        },
    }
}

fn percentage(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    let numeric = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    numeric.then(|| digits.parse().unwrap_or(i64::MAX.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        assert_eq!(percentage("25%"), Some(25));
        for text in ["%", "25", "-1%", "2.5%", "25 %", ""] {
            assert_eq!(percentage(text), None, "{text}");
        }
        assert!(is_nothing(&IntOrString::String("0%".to_owned())));
        assert!(!is_nothing(&IntOrString::Int(1)));
    }

    #[test]
    fn ports() {
        assert!(port(0).is_err() && port(65536).is_err() && port(-1).is_err());
        assert!(port(1).is_ok() && port(65535).is_ok());
        assert!(port_or_name(&IntOrString::String("8080".to_owned())).is_err());
        assert!(port_or_name(&IntOrString::String("http".to_owned())).is_ok());
    }
}
