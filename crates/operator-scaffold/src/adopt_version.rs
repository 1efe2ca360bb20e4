//! Decides the version of an existing operator from what its files state.

use semver::Version;

/// The version of an operator whose files state none.
pub(crate) const DEFAULT: &str = "0.0.1";

/// Parses a version as one that names a bundle. Build metadata and `-SNAPSHOT` are dropped, because the name of a
/// `ClusterServiceVersion` must not contain `+` or capitals; prereleases become lowercase, and `1.4` becomes `1.4.0`.
pub(crate) fn parse(text: &str) -> Option<Version> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_prefix('v').unwrap_or(&text);
    let text = text.split_once('+').map_or(text, |(before, _)| before);
    let text = text.strip_suffix("-snapshot").unwrap_or(text);
    let (numbers, prerelease) = text.split_at(text.find('-').unwrap_or(text.len()));
    let lacking = 2usize.checked_sub(numbers.matches('.').count())?;
    Version::parse(&format!("{numbers}{}{prerelease}", ".0".repeat(lacking))).ok()
}

/// A version as a file of the operator states it.
pub(crate) struct Stated {
    /// The value.
    pub text: String,
    /// The file.
    pub place: String,
}

/// Decides the version, and returns it with a line that says where it is from, unless a file states just that. It is the first
/// valid one that the build has `declared`, or the highest of the `existing` base and bundle if that is higher. A base of 0.0.0
/// is a placeholder.
pub(crate) fn decide(declared: &[Stated], existing: &[Stated]) -> (Option<Version>, Option<String>) {
    let valid = |stated: &Stated| parse(&stated.text);
    let first = declared.iter().find_map(|stated| Some((valid(stated)?, stated)));
    let highest = existing
        .iter()
        .filter_map(|stated| Some((valid(stated)?, stated)))
        .filter(|(version, _)| *version != Version::new(0, 0, 0))
        .max_by(|(one, _), (other, _)| one.cmp(other));
    let lower = match (&first, &highest) {
        (Some((declared, stated)), Some((existing, _))) if declared < existing => Some(*stated),
        _ => None,
    };
    let before = first.as_ref().map_or(declared.len(), |(_, chosen)| {
        declared.iter().position(|stated| std::ptr::eq(stated, *chosen)).unwrap_or_default()
    });
    let invalid = declared[..before].first();
    let why = match (lower, invalid) {
        (Some(lower), _) => format!("because `{}` in {} is lower", lower.text, lower.place),
        (None, Some(invalid)) => {
            format!("because `{}` in {} is not a semantic version", invalid.text, invalid.place)
        }
        (None, None) => String::new(),
    };
    let chosen = if lower.is_some() || first.is_none() { highest } else { first };
    let Some((version, stated)) = chosen else {
        let why = if why.is_empty() {
            "because no version was found in the Makefile, the build files, a base ClusterServiceVersion or a bundle"
        } else {
            &why
        };
        return (None, Some(format!("VERSION is {DEFAULT} {why}")));
    };
    let text = stated.text.trim();
    let is_same = text.strip_prefix('v').unwrap_or(text) == version.to_string();
    let note = match (is_same, why.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("VERSION is {version}, from {}, {why}", stated.place)),
        (false, true) => Some(format!("VERSION is {version}, from `{text}` in {}", stated.place)),
        (false, false) => Some(format!("VERSION is {version}, from `{text}` in {}, {why}", stated.place)),
    };
    (Some(version), note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_name_a_bundle() {
        for (text, expected) in [
            ("1.2.3", Some("1.2.3")),
            (" v1.2.3\n", Some("1.2.3")),
            ("1.4.0-SNAPSHOT", Some("1.4.0")),
            ("1.4.0-RC.1-SNAPSHOT", Some("1.4.0-rc.1")),
            ("1.4.0+abc", Some("1.4.0")),
            ("1.4.0-Beta.2+Abc-SNAPSHOT", Some("1.4.0-beta.2")),
            ("3.1", Some("3.1.0")),
            ("3", Some("3.0.0")),
            ("1.0-SNAPSHOT", Some("1.0.0")),
            ("1.4.0.Final", None),
            ("2024.01.05", None),
            ("$(shell git describe)", None),
            ("", None),
        ] {
            assert_eq!(parse(text).map(|version| version.to_string()).as_deref(), expected, "{text}");
        }
    }
}
