//! Decides the version of an existing operator from what its files state.

use semver::Version;

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
