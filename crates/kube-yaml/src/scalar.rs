//! The meaning of a plain YAML scalar to go-yaml v2, through which Kubernetes and OLM read YAML: YAML 1.1 with its
//! `yes`, `on` and octal numbers, but without base 60 and without timestamps.
//!
//! Source: `resolve.go` of `go.yaml.in/yaml/v2`, which `sigs.k8s.io/yaml` decodes with.

/// The value of a scalar once its implicit type is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// `null`, `~`, nothing at all.
    Null,
    /// `true`, `yes`, `on`, `y` and their opposites.
    Bool(bool),
    /// An integer in decimal, octal (`0777`, `0o777`), hexadecimal or binary.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// A decimal fraction, an exponent, `.inf` or `.nan`.
    Float(f64),
    /// Everything else: a string.
    String,
}

/// The absolute value below which a whole number written as a float is an integer, too.
pub(crate) const MAX_WHOLE_FLOAT: f64 = 9.2e18;

/// Resolves an untagged plain scalar.
#[must_use]
pub fn resolve(text: &str) -> Scalar {
    let Some(&first) = text.as_bytes().first() else { return Scalar::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => special_float(text).or_else(|| parse_float(text)).unwrap_or(Scalar::String),
        b'+' | b'-' | b'0'..=b'9' => special_float(text).or_else(|| number(text)).unwrap_or(Scalar::String),
        _ => Scalar::String,
    }
}

/// Formats a number in single precision as Go's format `g` does, which is how `sigs.k8s.io/yaml` converts a number to a
/// string.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "that is the rule")]
pub fn single_text(value: f64) -> String {
    let value = value as f32;
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => value.to_string(),
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::String,
    }
}

fn special_float(text: &str) -> Option<Scalar> {
    match text {
        ".nan" | ".NaN" | ".NAN" => Some(Scalar::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(Scalar::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => Some(Scalar::Float(f64::NEG_INFINITY)),
        _ => None,
    }
}

fn number(text: &str) -> Option<Scalar> {
    let plain = text.replace('_', "");
    integer(&plain).or_else(|| if is_yaml_float(&plain) { parse_float(&plain) } else { None })
}

/// Go's `strconv.ParseInt(s, 0, 64)` and, failing that, `ParseUint`.
fn integer(plain: &str) -> Option<Scalar> {
    let (negative, unsigned, signed) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..], true),
        b'+' => (false, &plain[1..], true),
        _ => (false, plain, false),
    };
    let lower = unsigned.to_ascii_lowercase();
    let (radix, digits) = if let Some(rest) = lower.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = lower.strip_prefix("0o") {
        (8, rest)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (2, rest)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    // from_str_radix would accept a second sign.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    match i64::try_from(magnitude) {
        Ok(value) => Some(Scalar::Int(value)),
        Err(_) if !signed => Some(Scalar::UInt(magnitude)),
        Err(_) => None,
    }
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`
fn is_yaml_float(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    mantissa_fits
        && exponent.is_none_or(|exponent| {
            let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !unsigned.is_empty() && digits(unsigned)
        })
}

fn parse_float(text: &str) -> Option<Scalar> {
    // Go's ParseFloat does not accept `inf` after a dot, and rejects what overflows.
    let plausible = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let value: f64 = plausible.then(|| text.parse().ok()).flatten()?;
    value.is_finite().then_some(Scalar::Float(value))
}

/// Returns the byte offset of something in a JSON text that YAML parsers reject in a string: an escaped half of a
/// surrogate pair, an escaped slash, a control character, a byte that is not UTF-8.
///
/// Source: `yaml_parser_scan_flow_scalar` and `yaml_parser_update_buffer` of go.yaml.in/yaml/v2.
#[must_use]
pub fn json_only(text: &[u8]) -> Option<usize> {
    let mut index = 0;
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid();
        let mut chars = valid.char_indices();
        while let Some((at, char)) = chars.next() {
            if is_refused(char) {
                return Some(index + at);
            }
            if char == '\\' {
                let escape = &valid.as_bytes()[at + 1..];
                if matches!(escape, [b'/', ..] | [b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..])
                {
                    return Some(index + at);
                }
                chars.next();
            }
        }
        if !chunk.invalid().is_empty() {
            return Some(index + valid.len());
        }
        index += valid.len();
    }
    None
}

/// Returns whether YAML rejects an unescaped character that JSON accepts.
#[must_use]
pub fn is_refused(char: char) -> bool {
    matches!(char, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_1_1_words_are_booleans_and_nulls() {
        for text in ["y", "Yes", "ON", "true"] {
            assert_eq!(resolve(text), Scalar::Bool(true), "{text}");
        }
        for text in ["n", "No", "off", "FALSE"] {
            assert_eq!(resolve(text), Scalar::Bool(false), "{text}");
        }
        for text in ["", "~", "null", "NULL"] {
            assert_eq!(resolve(text), Scalar::Null, "{text:?}");
        }
        for text in ["yEs", "nUll", "truth", "None", "=", "<"] {
            assert_eq!(resolve(text), Scalar::String, "{text}");
        }
    }

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        for (text, value) in
            [("0777", 511), ("0o17", 15), ("0x1F", 31), ("-0b11", -3), ("1_000", 1000), ("+7", 7)]
        {
            assert_eq!(resolve(text), Scalar::Int(value), "{text}");
        }
        assert_eq!(resolve("-9223372036854775808"), Scalar::Int(i64::MIN));
        assert_eq!(resolve("18446744073709551615"), Scalar::UInt(u64::MAX));
        for (text, value) in [("089", 89.0), ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("-1.5E-2", -0.015)] {
            assert_eq!(resolve(text), Scalar::Float(value), "{text}");
        }
        for text in ["1.2.3", "0x", "1e", "--1", "2024-01-02", "12:30", "1e999", "0b12", "."] {
            assert_eq!(resolve(text), Scalar::String, "{text}");
        }
    }

    #[test]
    fn numbers_become_texts_as_in_go() {
        for (value, text) in [
            (1.0, "1"),
            (0.1, "0.1"),
            (-123_456.0, "-123456"),
            (1_234_567.0, "1.234567e+06"),
            (0.000_1, "0.0001"),
            (0.000_01, "1e-05"),
            (16_777_217.0, "1.6777216e+07"),
            (1e300, "+Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(single_text(value), text);
        }
    }
}
