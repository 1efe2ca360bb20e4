//! Versions and version ranges as OLM parses them, which is not as Cargo does: OLM accepts `v1.2` as 1.2.0 for a CSV's
//! version, and its ranges support `||`, `!` and `x`.
//!
//! Source: `semver.go` and `range.go` of github.com/blang/semver/v4, OLM's library.

use std::cmp::Ordering;

/// A semantic version.
pub type Version = semver::Version;

/// The reason why a string is not a version or not a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VersionError(String);

fn fail<T>(message: impl Into<String>) -> Result<T, VersionError> {
    Err(VersionError(message.into()))
}

/// Parses `MAJOR.MINOR.PATCH`, with an optional pre-release and build.
///
/// # Errors
/// The string is anything else.
pub fn strict(text: &str) -> Result<Version, VersionError> {
    if text.is_empty() {
        return fail("must not be empty");
    }
    if text.splitn(3, '.').count() < 3 {
        return fail("must have major, minor and patch numbers");
    }
    Version::parse(text).map_err(|error| VersionError(error.to_string()))
}

/// Parses a version as OLM parses that of a CSV: surrounding spaces, a leading `v`, leading zeros and missing numbers are
/// accepted.
///
/// # Errors
/// The string is not a version.
pub fn tolerant(text: &str) -> Result<Version, VersionError> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    if text.is_empty() {
        return fail("must not be empty");
    }
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
            return fail("a pre-release or build requires major, minor and patch numbers");
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
    /// Parses a range.
    ///
    /// # Errors
    /// The string is not a range.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let parts = split(text);
        let mut alternatives = vec![Vec::new()];
        for (index, part) in parts.iter().enumerate() {
            if part == "||" {
                if index == 0 {
                    return fail("must not start with `||`");
                }
                alternatives.push(Vec::new());
            } else if let Some(alternative) = alternatives.last_mut() {
                expand(part, alternative)?;
            }
        }
        if parts.is_empty() {
            return fail("must contain a version");
        }
        if parts.last().is_some_and(|part| part == "||") {
            return fail("missing version at the end");
        }
        Ok(Self(alternatives))
    }

    /// Returns whether `version` is in the range. Build metadata is ignored.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.0
            .iter()
            .any(|all| all.iter().all(|(comparator, bound)| comparator.holds(version.cmp_precedence(bound))))
    }
}

impl Range {
    /// Returns the versions that the range compares with.
    pub fn bounds(&self) -> impl Iterator<Item = &Version> {
        self.0.iter().flatten().map(|(_, bound)| bound)
    }

    /// Returns which of `count` positions are in the range, if these are sorted by precedence and `equal` returns those that are equal
    /// to a version: disjoint spans in ascending order. A span of no position says where the version would be.
    #[must_use]
    pub fn spans(
        &self,
        count: usize,
        equal: impl Fn(&Version) -> std::ops::Range<usize>,
    ) -> Vec<std::ops::Range<usize>> {
        let mut spans: Vec<std::ops::Range<usize>> = Vec::new();
        for all in &self.0 {
            let (mut start, mut end, mut holes) = (0, count, Vec::new());
            for (comparator, bound) in all {
                let at = equal(bound);
                match comparator {
                    Comparator::Equal => (start, end) = (start.max(at.start), end.min(at.end)),
                    Comparator::NotEqual => holes.push(at),
                    Comparator::Greater => start = start.max(at.end),
                    Comparator::GreaterOrEqual => start = start.max(at.start),
                    Comparator::Less => end = end.min(at.start),
                    Comparator::LessOrEqual => end = end.min(at.end),
                }
            }
            holes.sort_unstable_by_key(|hole| hole.start);
            for hole in holes {
                spans.push(start..hole.start.min(end));
                start = start.max(hole.end);
            }
            spans.push(start..end);
        }
        spans.retain(|span| span.start < span.end);
        spans.sort_unstable_by_key(|span| span.start);
        let mut disjoint: Vec<std::ops::Range<usize>> = Vec::with_capacity(spans.len());
        for span in spans {
            match disjoint.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => disjoint.push(span),
            }
        }
        disjoint
    }
}

/// Splits at spaces, except after a comparator. A part of one character is dropped, as in the original.
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

/// Appends one comparison, or two if its version ends with a wildcard.
fn expand(part: &str, into: &mut Vec<(Comparator, Version)>) -> Result<(), VersionError> {
    let Some(digit) = part.find(|c: char| c.is_numeric()) else {
        let version = part.trim_start_matches(['=', '!', '<', '>']);
        return fail(match version {
            "" => format!("missing version in `{part}`"),
            version => format!("invalid version `{version}`"),
        });
    };
    let (operator, version) = part.split_at(digit);
    let Some(comparator) = Comparator::parse(operator.trim()) else {
        return fail(format!("invalid operator `{operator}`: must be `=`, `!=`, `>`, `>=`, `<` or `<=`"));
    };
    let read = |text: &str| match strict(text) {
        Ok(version) => Ok(version),
        Err(error) => fail(format!("invalid version `{text}`: {error}")),
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
            return fail(format!("invalid version `{version}`: the wildcard must be at the end"));
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
        // Both must hold at once, which no version does; the original behaves the same.
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
    fn spans_have_the_versions_that_the_range_contains() {
        let versions: Vec<Version> = ["1.0.0-rc.1", "1.0.0", "1.0.0+b", "1.2.0", "1.2.9", "2.0.0", "3.1.0"]
            .map(|text| strict(text).unwrap())
            .into();
        let equal = |bound: &Version| {
            versions.partition_point(|version| version.cmp_precedence(bound).is_lt())
                ..versions.partition_point(|version| version.cmp_precedence(bound).is_le())
        };
        for text in [
            ">=1.0.0 <2.0.0",
            "!=1.0.0",
            "!1.2.0 !=3.1.0 >1.0.0-rc.1",
            "<1.0.0 || >=2.0.0",
            "1.2.x || 1.0.0",
            ">3.1.0",
            "<=1.0.0 || <3.0.0",
            ">=2.0.0 <1.0.0",
            "!=1.x",
            "!=0.1.0 <1.2.0 || 1.2.0",
        ] {
            let range = Range::parse(text).unwrap();
            let spans = range.spans(versions.len(), equal);
            let found: Vec<bool> =
                (0..versions.len()).map(|at| spans.iter().any(|span| span.contains(&at))).collect();
            let expected: Vec<bool> = versions.iter().map(|version| range.contains(version)).collect();
            assert_eq!(found, expected, "{text}");
            assert!(spans.windows(2).all(|pair| pair[0].end < pair[1].start), "{text}: {spans:?}");
        }
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
