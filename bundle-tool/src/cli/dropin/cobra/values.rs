//! The values of flags, parsed as Go does.

use std::time::Duration;

/// Parses a boolean as `strconv.ParseBool` does.
pub(crate) fn bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

/// Parses a duration as `time.ParseDuration` does, such as `1h30m` or `1.5s`; negative durations become zero.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    if unsigned.is_empty() {
        return Err(invalid());
    }
    let mut rest = unsigned;
    let mut seconds = 0.0_f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, unit) = rest.split_at(end);
        if number.is_empty() || number == "." || number.matches('.').count() > 1 {
            return Err(invalid());
        }
        let end = unit.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(unit.len());
        let (unit, left) = unit.split_at(end);
        let factor = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "" => return Err(format!("time: missing unit in duration {text:?}")),
            unit => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
        };
        seconds += number.parse::<f64>().map_err(|_| invalid())? * factor;
        rest = left;
    }
    // The limit of Go's type: 2^63 nanoseconds.
    if seconds > 9_223_372_036.0 {
        return Err(invalid());
    }
    if text.starts_with('-') {
        return Ok(Duration::ZERO);
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| invalid())
}

/// Parses a list as one line of CSV, as pflag does.
pub(crate) fn list(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (field, left) = quoted_field(quoted)?;
            fields.push(field);
            rest = left;
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let (field, left) = rest.split_at(end);
            if field.contains('"') {
                return Err("parse error on line 1: bare \" in non-quoted field".to_owned());
            }
            fields.push(field.to_owned());
            rest = left;
        }
        match rest.strip_prefix(',') {
            Some(left) => rest = left,
            None => return Ok(fields),
        }
    }
}

/// Returns a field up to its closing quote, and what follows.
fn quoted_field(text: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('"') {
        field.push_str(before);
        if let Some(more) = after.strip_prefix('"') {
            field.push('"');
            rest = more;
        } else if after.is_empty() || after.starts_with(',') {
            return Ok((field, after));
        } else {
            break;
        }
    }
    Err("parse error on line 1: extraneous or missing \" in quoted-field".to_owned())
}

/// Parses `KEY=VALUE` pairs. A string with one `=` is one pair, even if it contains commas.
pub(crate) fn map(text: &str) -> Result<Vec<(String, String)>, String> {
    let pairs = match text.matches('=').count() {
        0 => return Err(format!("{text} must be formatted as key=value")),
        1 => vec![text.trim_matches('"').to_owned()],
        _ => list(text)?,
    };
    let split = |pair: String| match pair.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(format!("{pair} must be formatted as key=value")),
    };
    pairs.into_iter().map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, millis) in [
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1.5s", 1500),
            ("300ms", 300),
            ("0", 0),
            ("-5m", 0),
            ("2m0s", 120_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "m", "5x", "1..5s", "-", "10000000000s"] {
            assert!(duration(text).unwrap_err().starts_with("time: "), "{text}");
        }
    }

    #[test]
    fn lists_are_lines_of_csv() {
        let fields = |text| list(text).unwrap();
        assert_eq!(fields("a,b,,c"), ["a", "b", "", "c"]);
        assert_eq!(fields("\"a,b\",\"c\"\"d\""), ["a,b", "c\"d"]);
        assert!(fields("").is_empty());
        assert!(list("\"a").is_err() && list("a\"b").is_err() && list("\"a\"b").is_err());
    }

    #[test]
    fn a_value_with_one_equals_sign_may_have_commas() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(map("a=1,2").unwrap(), [pair("a", "1,2")]);
        assert_eq!(map("a=1,b=2").unwrap(), [pair("a", "1"), pair("b", "2")]);
        assert!(map("a").is_err() && map("a=1,b,c=2").is_err());
    }
}
