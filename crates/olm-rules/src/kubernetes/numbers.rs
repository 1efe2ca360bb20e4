//! Ports, percentages, file modes, user and group ids.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/validation.go`, `k8s.io/kubernetes/pkg/apis/apps/validation`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::names;
use crate::errors::ErrorReporter;
use kube_yaml::Path;

/// Validates a port number, from 1 to 65535.
pub(crate) fn port(value: impl Into<i64>) -> Result<(), String> {
    let value = value.into();
    if (1..=65535).contains(&value) {
        Ok(())
    } else {
        Err(format!("invalid port {value}: must be between 1 and 65535"))
    }
}

/// Validates a port number or port name.
pub(crate) fn port_or_name(value: &IntOrString) -> Result<(), String> {
    match value {
        IntOrString::Int(number) => port(*number),
        IntOrString::String(name) => names::port_name(name),
    }
}

/// Validates a user or group ID, from 0 to 2147483647.
pub(crate) fn identity(value: i64) -> Result<(), String> {
    if (0..=i64::from(i32::MAX)).contains(&value) {
        Ok(())
    } else {
        Err(format!("invalid ID {value}: must be between 0 and 2147483647"))
    }
}

/// Validates a file mode, from 0 to 0777.
pub(crate) fn file_mode(value: Option<i32>) -> Result<(), String> {
    match value {
        Some(mode) if !(0..=0o777).contains(&mode) => {
            Err(format!("invalid file mode {mode}: must be between 0 and 0777 (511 in decimal)"))
        }
        _ => Ok(()),
    }
}

/// Validates a count or a percentage: not negative, with digits before the `%`.
pub(crate) fn count_or_percentage(value: &IntOrString, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    match value {
        IntOrString::Int(count) => errors.not_negative(path, *count),
        IntOrString::String(text) if percentage(text).is_none() => {
            errors.add(
                path,
                names::invalid("percentage", text, "must be digits followed by `%`, such as `25%`"),
            );
        }
        IntOrString::String(_) => {}
    }
}

/// Reports a percentage above 100.
pub(crate) fn at_most_everything(value: &IntOrString, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if let IntOrString::String(text) = value
        && percentage(text).is_some_and(|value| value > 100)
    {
        errors.add(path, format!("invalid percentage `{text}`: must not exceed 100%"));
    }
}

/// Returns whether the value is 0 or `0%`, or cannot be parsed as a number.
pub(crate) fn is_nothing(value: &IntOrString) -> bool {
    match value {
        IntOrString::Int(count) => *count == 0,
        IntOrString::String(text) => match percentage(text) {
            Some(value) => value == 0,
            // Anything other than a percentage is parsed as a plain number.
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
