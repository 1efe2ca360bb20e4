//! Versions and version ranges as OLM reads them, which is not as Cargo does: OLM takes `v1.2` for 1.2.0 in a CSV's
//! version, and its ranges know `||`, `!` and `x`.
//!
//! Source: `semver.go` and `range.go` of github.com/blang/semver/v4, OLM's library.

use std::cmp::Ordering;

/// A semantic version.
pub type Version = semver::Version;

/// Why a text is no version or no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VersionError(String);

fn fail<T>(message: impl Into<String>) -> Result<T, VersionError> {
    Err(VersionError(message.into()))
}

/// Reads `MAJOR.MINOR.PATCH`, with an optional pre-release and build.
///
/// # Errors
/// The text is anything else.
pub fn strict(text: &str) -> Result<Version, VersionError> {
    if text.is_empty() {
        return fail("it is empty");
    }
    if text.splitn(3, '.').count() < 3 {
        return fail("it lacks one of major, minor and patch");
    }
    Version::parse(text).map_err(|error| VersionError(error.to_string()))
}

/// Reads a version as OLM reads that of a CSV: spaces around it, a `v` before it, zeros that lead and numbers that lack
/// do no harm.
///
/// # Errors
/// The text is no version even so.
pub fn tolerant(text: &str) -> Result<Version, VersionError> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
            return fail("a pre-release or build needs all of major, minor and patch before it");
        }
        parts.resize(3, "0".to_owned());
    }
    strict(&parts.join("."))
}

fn without_leading_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|first: char| first.is_ascii_digit()) { rest.to_owned() } else { format!("0{rest}") }
}

/// A set of versions: `>=1.0.0 <2.0.0 || 3.x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range(Vec<Vec<(Comparator, Version)>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Comparator {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "" | "=" | "==" => Self::Equal,
            "!" | "!=" => Self::NotEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            _ => return None,
        })
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
        }
    }
}

impl Range {
    /// Reads a range.
    ///
    /// # Errors
    /// The text is none.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let parts = split(text);
        let mut alternatives = vec![Vec::new()];
        for (index, part) in parts.iter().enumerate() {
            if part == "||" {
                if index == 0 {
                    return fail("it begins with '||'");
                }
                alternatives.push(Vec::new());
            } else if let Some(alternative) = alternatives.last_mut() {
                expand(part, alternative)?;
            }
        }
        if parts.is_empty() || parts.last().is_some_and(|part| part == "||") {
            return fail("a version is missing at its end");
        }
        Ok(Self(alternatives))
    }

    /// Whether `version` is in the range. Builds do not count.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.0
            .iter()
            .any(|all| all.iter().all(|(comparator, bound)| comparator.holds(version.cmp_precedence(bound))))
    }
}

/// Splits at spaces, but for those behind a comparator. A part of one character is lost, as in the original.
fn split(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let (mut start, mut last) = (0, 0);
    for (index, &byte) in bytes.iter().enumerate() {
        if byte != b' ' {
            last = byte;
        } else if !matches!(last, b'<' | b'=' | b'>') {
            if start + 1 < index {
                parts.push(&text[start..index]);
            }
            start = index + 1;
        }
    }
    if start + 1 < text.len() {
        parts.push(&text[start..]);
    }
    parts.into_iter().map(|part| part.replace(' ', "")).collect()
}

/// One comparison, or two where its version ends in a wildcard.
fn expand(part: &str, into: &mut Vec<(Comparator, Version)>) -> Result<(), VersionError> {
    let Some(digit) = part.find(|c: char| c.is_numeric()) else {
        return fail(format!("'{part}' has no version"));
    };
    let (operator, version) = part.split_at(digit);
    let Some(comparator) = Comparator::parse(operator.trim()) else {
        return fail(format!("'{operator}' is no comparison"));
    };
    let read = |text: &str| match strict(text) {
        Ok(version) => Ok(version),
        Err(error) => fail(format!("'{text}' is no version: {error}")),
    };
    if !part.contains('x') {
        into.push((comparator, read(version)?));
        return Ok(());
    }
    let places = version.split('.').count();
    let wild = version.split('.').next_back() == Some("x") && matches!(places, 2 | 3);
    let flat = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    let low = read(&if flat.split('.').count() == 2 { format!("{flat}.0") } else { flat })?;
    let high = || {
        if !wild {
            return fail(format!("'{version}' has its wildcard at no end"));
        }
        let mut high = low.clone();
        if places == 3 && !version.ends_with(".x.x") {
            high.minor += 1;
        } else {
            high.major += 1;
        }
        Ok(high)
    };
    match comparator {
        Comparator::Greater => into.push((Comparator::GreaterOrEqual, high()?)),
        Comparator::GreaterOrEqual => into.push((Comparator::GreaterOrEqual, low)),
        Comparator::Less => into.push((Comparator::Less, low)),
        Comparator::LessOrEqual => into.push((Comparator::Less, high()?)),
        Comparator::Equal => {
            let high = high()?;
            into.extend([(Comparator::GreaterOrEqual, low), (Comparator::Less, high)]);
        }
        // Both must hold at once, which no version does: so the original has it.
        Comparator::NotEqual => {
            let high = high()?;
            into.extend([(Comparator::Less, low), (Comparator::GreaterOrEqual, high)]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerant_reader_fills_up_and_a_strict_one_does_not() {
        for (text, full) in [
            ("v1.2.3", "1.2.3"),
            ("1", "1.0.0"),
            ("01.002", "1.2.0"),
            (" 1.2.3-rc.1+b ", "1.2.3-rc.1+b"),
            ("0.0.01", "0.0.1"),
        ] {
            assert_eq!(tolerant(text).map(|version| version.to_string()), Ok(full.to_owned()), "{text}");
            assert!(strict(text).is_err(), "{text}");
        }
        for text in ["", "x", "1.2.3.4", "one.two.three", "1.2-rc1", "1.2.3-01", "1.2.3-"] {
            assert!(tolerant(text).is_err(), "{text}");
        }
        assert!(strict("1.25.0").is_ok() && strict("1.25").is_err());
    }

    #[test]
    fn ranges_are_read_as_olm_reads_them() {
        let holds =
            |range: &str, version: &str| Range::parse(range).unwrap().contains(&strict(version).unwrap());
        assert!(holds(">=1.0.0 <2.0.0", "1.5.0") && !holds(">=1.0.0 <2.0.0", "2.0.0"));
        assert!(holds(">= 1.0.0 < 2.0.0 || 3.x", "3.9.1") && !holds("3.x", "4.0.0"));
        assert!(holds("1.2.x", "1.2.9") && !holds("1.2.x", "1.3.0") && holds(">1.x", "2.0.0"));
        assert!(holds("!1.0.0", "1.0.1") && !holds("!=1.0.0", "1.0.0") && holds("1.0.0", "1.0.0"));
        assert!(holds("<1.0.0", "1.0.0-rc.1"));
        for range in ["", "abc", ">=1.0", "|| 1.0.0", "1.0.0 ||", "~1.0.0", "^1.0.0", ">=v1.0.0"] {
            assert!(Range::parse(range).is_err(), "{range}");
        }
    }
}
